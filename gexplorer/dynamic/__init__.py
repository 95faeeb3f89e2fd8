"""What happens when shapes change: builds, gears, warm-up and caches over a workload of requests."""
