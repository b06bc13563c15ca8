test: ## run every test
	cargo test --workspace
