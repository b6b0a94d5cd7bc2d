"""What the gate tells: severity, baseline, text, JUnit, SARIF, markdown and files."""
