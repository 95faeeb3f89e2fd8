"""What a compilation leaves behind: steps, rewrites and near misses, as plain records."""
