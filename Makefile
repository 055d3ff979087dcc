# Everything sets itself up: only Python 3.11 or newer and make are needed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test system fuzz lint bench reproduce planning totals accuracy coverage noise people firms scale audit report-bench \
  pages mutation notebook docs startup readme picture package clean

## Release an invented nation under differential privacy, and show what comes out.
demo: .venv/installed
	$(BIN)/tallytree demo

## All tests. What they need of the system is installed where that can be done (Debian, as root).
test: .venv/installed-dev system
	$(BIN)/pytest -q -n auto --dist loadgroup

## PostgreSQL, MariaDB, R, Java and Chromium, for the tests.
system:
	@scripts/install-system-packages

## Damage every kind of file that is read, ten thousand times each, guided by coverage.
fuzz: .venv/installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt atheris
	$(BIN)/python -m tests.fuzzing

## Style, types, and who may import whom.
lint: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

## Measure speed against peers, side by side, in some 35 minutes; writes benchmarks/RESULTS.md.
## With QUICK=1, a smoke run that prints what it would write.
bench: .venv/installed-dev
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick)

## Run the paper's experiments again on the public tables in the folder DATA, an hour or two; writes
## docs/reproduction/page.md with its figures. If interrupted, it goes on where it stopped.
reproduce: .venv/installed-dev
	@test -n "$(DATA)" || { echo "Where are the data? make reproduce DATA=FOLDER"; exit 2; }
	$(BIN)/tallytree reproduce all --data "$(DATA)" --out docs/reproduction

## Compare what the planner expects with what is then measured; writes benchmarks/PLANNING.md.
planning: .venv/installed-dev
	@test -n "$(DATA)" || { echo "Where is the county table? make planning DATA=FOLDER"; exit 2; }
	$(BIN)/python -m benchmarks.planning --data "$(DATA)"

## Compare releases with a public and with a private total; writes benchmarks/TOTALS.md.
totals: .venv/installed-dev
	@test -n "$(DATA)" || { echo "Where is the county table? make totals DATA=FOLDER"; exit 2; }
	$(BIN)/python -m benchmarks.totals --data "$(DATA)"

## Compare the errors of releases with those of the version before (BEFORE: a checkout of it), half an hour;
## writes benchmarks/ACCURACY.md.
accuracy: .venv/installed-dev
	@test -n "$(DATA)" -a -n "$(BEFORE)" || { echo "make accuracy DATA=FOLDER BEFORE=CHECKOUT"; exit 2; }
	$(BIN)/python -m benchmarks.accuracy --data "$(DATA)" --before "$(BEFORE)"

## Compare the intervals of simulated releases with the truth, hours; writes benchmarks/COVERAGE.md. If
## interrupted, it goes on where it stopped. STUDY=WORDS: only studies with these words in their titles.
coverage: .venv/installed-dev
	@test -n "$(DATA)" || { echo "Where is the county table? make coverage DATA=FOLDER"; exit 2; }
	$(BIN)/python -m benchmarks.coverage --data "$(DATA)" $(if $(STUDY),--study "$(STUDY)")

## Measure the exact samplers of noise side by side; writes benchmarks/NOISE.md.
noise: .venv/installed-dev
	$(BIN)/python -m benchmarks.noise

## Measure releases from records of a whole nation, beside DuckDB's bare group-by (SCRATCH: a folder with
## 10 GB free); writes benchmarks/PEOPLE.md.
people: .venv/installed-dev
	$(BIN)/python -m benchmarks.people $(if $(SCRATCH),--scratch "$(SCRATCH)")

## Measure a business register of 6 million invented firms, from records to report, and compare it with the
## suppression of small cells (SCRATCH: a folder with 1 GB free); writes benchmarks/FIRMS.md.
firms: .venv/installed-dev
	$(BIN)/python -m benchmarks.firms $(if $(SCRATCH),--scratch "$(SCRATCH)")

## Measure releases of census tracts (DATA: the folder of their table) and of 11 million invented census blocks
## (SCRATCH: a folder with 5 GB free; 16 GB of memory); writes benchmarks/SCALE.md.
scale: .venv/installed-dev
	$(BIN)/python -m benchmarks.scale $(if $(SCRATCH),--scratch "$(SCRATCH)") $(if $(DATA),--data "$(DATA)")

## Measure how fast intervals of a whole nation are made, and its report is written and opened; writes
## benchmarks/REPORT.md.
report-bench: .venv/installed-dev system
	$(BIN)/python -m benchmarks.reports

## Write all pages of benchmarks anew from what was measured last (benchmarks/results.json).
pages: .venv/installed-dev
	$(BIN)/python -m benchmarks --pages

## Build the documentation as a site that needs no network: open site/index.html. Warnings are errors.
docs: .venv/installed-dev
	$(BIN)/python -m scripts.docs
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d site/.trees -b html -c scripts/docs . site
	@echo "Open site/index.html"

## Audit all mechanisms, the stated epsilon against what is measured; writes docs/audit-results.md.
audit: .venv/installed-dev
	$(BIN)/tallytree audit --all --out docs/audit-results.md

## Break the code on purpose, one small change at a time, and see whether the tests notice; writes
## benchmarks/MUTATION.md. SAMPLE=N: so many mutants of each part. If interrupted, it goes on where it stopped.
mutation: .venv/installed-dev
	$(BIN)/python -m scripts.mutation $(if $(SAMPLE),--sample $(SAMPLE))

## Run the example notebooks, and write what they show into them.
notebook: .venv/installed-dev
	$(BIN)/python -m tests.report.notebook_support

## Measure how long importing the package and `tallytree --help` take, and how large an installation is; writes
## benchmarks/STARTUP.md.
startup: .venv/installed-dev
	$(BIN)/python -m benchmarks.startup

## Take the README's table of mechanisms from what the last `make reproduce` and `make bench` measured.
readme: .venv/installed-dev
	$(BIN)/python -m scripts.readme

## Draw the README's picture anew, from a release of the invented nation, and take those of the page for choosing
## epsilon.
picture: .venv/installed-dev system
	$(BIN)/python -m scripts.picture
	$(BIN)/python -m scripts.plan_pictures

## Build wheel and source distribution into dist/, install them in clean environments of every Python on the
## path (or PYTHONS="..."), and try them there.
package: .venv/installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check --upgrade pip  # an old one cannot do with new Pythons
	$(BIN)/python -m scripts.package $(PYTHONS)

clean:
	rm -rf .venv dist site tallytree-demo tallytree-demo-plan.html tallytree-reproduction tallytree-coverage

.venv/bin/pip:
	@scripts/make-environment $(PYTHON)

# Upgrading pip is no reason to install all anew.
.venv/installed: pyproject.toml constraints.txt | .venv/bin/pip
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	@touch $@
