"""Drawing: terminal, static pictures, the HTML report."""
