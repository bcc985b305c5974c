# What one can do here; `make` alone lists it. Everything is installed into .venv; Debian packages only where they are missing.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest-pika
RABBITMQ4 := .cache/rabbitmq4
# Many tests wait for a broker, so several processes share the machine, each with brokers of its own. On a busy one they
# may miss a deadline for that: what fails beside others has to pass alone.
AT_ONCE := -n 3 --dist worksteal
ALONE := --last-failed --last-failed-no-failures none
test_with = $(1) $(AT_ONCE) $(2) || { [ $$? = 1 ] && echo "Once more, one at a time:" && $(1) $(ALONE) $(2); }
ABOUT_PIKA := mover or splice or publisher or content_header or depths or replica
BROKER_TESTS := $(wildcard tests/integration tests/faults)

.PHONY: help run test check bench soak test-rabbitmq4 test-pika clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

run: $(VENV)/ready deploy-rabbitmq ## try it: a private RabbitMQ, the distributor, demo tenants and workers, until Ctrl-C
	@$(VENV)/bin/raquo dev $(if $(SECONDS_TO_RUN),--seconds $(SECONDS_TO_RUN))

test: check deploy-rabbitmq ## everything: linters, types, import rules, all tests on a real RabbitMQ
	$(call test_with,$(VENV)/bin/pytest)

check: $(VENV)/ready ## linters, types, import rules
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

bench: $(VENV)/ready deploy-rabbitmq ## everything that is promised, measured (30 min); QUICK=1 for a short run (6 min)
	$(VENV)/bin/python -m benchmarks $(if $(QUICK),--quick)

soak: $(VENV)/ready deploy-rabbitmq ## the distributor under a steady load: nothing lost, memory flat; MINUTES=10 QUEUES=10000
	$(VENV)/bin/python -m benchmarks.soak --minutes $(or $(MINUTES),10) --queues $(or $(QUEUES),10000)

test-rabbitmq4: $(VENV)/ready ## the broker's tests on RabbitMQ 4, prepared from Debian sid (root on Debian)
	deploy/rabbitmq4.sh $(RABBITMQ4)
	export RAQUO_RABBITMQ_ROOT=$(CURDIR)/$(RABBITMQ4); $(call test_with,$(VENV)/bin/pytest,$(BROKER_TESTS))

test-pika: $(OLDEST)/ready deploy-rabbitmq ## the mover's and publisher's tests with the oldest pika supported
	$(call test_with,$(OLDEST)/bin/pytest,tests/unit $(BROKER_TESTS) -k "$(ABOUT_PIKA)")

clean: ## remove what these commands made
	rm -rf $(VENV) $(OLDEST) .cache build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/ready: setup.cfg pyproject.toml
	deploy/venv.sh $(PYTHON) $(VENV)
	touch $@

$(OLDEST)/ready: setup.cfg pyproject.toml
	deploy/venv.sh $(PYTHON) $(OLDEST) 'pika==1.3.2'
	touch $@

.PHONY: deploy-rabbitmq
deploy-rabbitmq:
	@deploy/rabbitmq.sh
