"""What the gate reports: severity, baseline, table, JSON, JUnit, SARIF, markdown and files."""
