"""Speed against peers, side by side on one machine: a module a topic, which measures, judges and writes."""
