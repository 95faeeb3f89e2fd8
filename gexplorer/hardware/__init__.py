"""The chips: capacities, rates and costs, each number with its source."""
