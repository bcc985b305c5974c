"""What several tests need: waiting, administration of a broker, plain AMQP, certificates."""
