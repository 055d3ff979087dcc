"""How accurate the mechanisms are on real data, beside published figures: ``make accuracy DATA=FOLDER``."""
