"""The whole way from counts to a release: plan, charge, measure, solve, check, state."""
