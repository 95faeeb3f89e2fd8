"""What the source articles claim, beside what comes out when it is computed; one file a row."""
