"""Pure functions from a trace to plain data; drawing is somebody else's business."""
