# What one does here. Everything is a plain go command; this file remembers them.

# The linter is built from source by go run, once, and kept in Go's cache.
GOLANGCI_LINT = go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

.DEFAULT_GOAL := help
.PHONY: help demo run test race browser fuzz lint generate docs mutations ci

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Start everything with sample data, and print a sign-in link
	go run ./cmd/server demo

run: ## Serve on http://127.0.0.1:8080, with a Postgres of its own
	go run ./cmd/server

test: ## Run all tests
	go test ./...

race: ## Run all tests with the race detector
	go test -race ./...

browser: ## Run all tests; fail if there is no browser for those that need one
	BATON_REQUIRE_BROWSER=1 go test ./...

fuzz: ## Run each fuzz target for FUZZTIME, 10m if it isn't given
	.ci/fuzz $(FUZZTIME)

lint: ## Run gofmt, go vet and the linters
	@test -z "$$(gofmt -l cmd internal migrations static templates web)" || { gofmt -l cmd internal migrations static templates web; exit 1; }
	go vet ./...
	$(GOLANGCI_LINT) run ./...

generate: ## Write the Go code of the templates (templ) anew
	go tool templ generate

docs: ## Write the documents that are made from the source
	go test ./internal/house -run UpToDate -update

mutations: ## Take away each guard of docs/mutations.md in turn; its test has to fail
	go test ./internal/house -run TheTestsMiss -mutate -timeout 60m

ci: ## Check everything, as the build server does
	.ci/run
