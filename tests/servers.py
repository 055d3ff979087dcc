"""Real servers for the tests: databases and an object store on loopback, a Spark cluster of processes."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pymysql
import pytest
from psycopg import sql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HASTY_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that does little and then ends."""


def need(found: object, what: str) -> None:
    """Skip a test that lacks something of the system; in CI everything must be there."""
    if not found:
        message = f"{what} is not installed (on Debian, as root: make system)"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)


@contextmanager
def run_postgres() -> Iterator[str]:
    """A new PostgreSQL server, gone at the end; yields the URL of its database."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    need(programs, "PostgreSQL")
    where = programs[-1].parent
    # PostgreSQL refuses to run as root.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="tallytree-pg-") as name:
        folder = Path(name)
        if as_user:
            shutil.chown(folder, "postgres")

        def run(*words: str) -> None:
            subprocess.run([*as_user, *words], check=True, capture_output=True, cwd="/")

        password = folder / "password"
        password.write_text("it's secret")
        password.chmod(0o644)
        data = str(folder / "data")
        run(str(where / "initdb"), "-D", data, "-U", "tester", "-A", "scram-sha-256", f"--pwfile={password}")
        port = find_port()
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run(str(where / "pg_ctl"), "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql://tester:it%27s%20secret@127.0.0.1:{port}/postgres"
        finally:
            run(str(where / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")


@contextmanager
def run_mariadb() -> Iterator[str]:
    """A new MariaDB server, gone at the end; yields the URL of its database, which is not of UTF-8."""
    need(shutil.which("mariadbd") and shutil.which("mariadb-install-db"), "MariaDB")
    # MariaDB runs as root only if it is told to.
    as_root = ["--user=root"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="tallytree-mariadb-") as name:
        folder = Path(name)
        data = f"--datadir={folder / 'data'}"
        setup = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
        subprocess.run(
            ["mariadb-install-db", "--no-defaults", data, *setup, *as_root], check=True, capture_output=True
        )
        first = folder / "first.sql"
        first.write_text(
            "CREATE DATABASE census CHARACTER SET latin1;\n"
            "CREATE USER 'tester'@'127.0.0.1' IDENTIFIED BY 'it''s secret';\n"
            "GRANT ALL ON *.* TO 'tester'@'127.0.0.1' WITH GRANT OPTION;\n"
        )
        port = find_port()
        options = [*as_root, f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder / 'socket'}"]
        options.append("--skip-name-resolve")
        with subprocess.Popen(
            ["mariadbd", "--no-defaults", data, *options, f"--init-file={first}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as server:
            try:
                wait_for(port, server)
                yield f"mysql://tester:it%27s+secret@127.0.0.1:{port}/census"
            finally:
                server.terminate()


class ObjectStore(NamedTuple):
    """A server that speaks S3."""

    folder: Path
    """Its buckets are the folders in here, and their objects the files."""
    environment: dict[str, str]
    """The variables that lead to it."""


@contextmanager
def run_object_store() -> Iterator[ObjectStore]:
    """A new server that speaks S3 and checks signatures, gone at the end."""
    program = Path(sys.executable).parent / "rclone"
    need(program.exists(), "rclone")
    key, secret = "reader", "its/secret+"
    port = find_port()
    with tempfile.TemporaryDirectory(prefix="tallytree-s3-") as folder:
        options = ["--addr", f"127.0.0.1:{port}", "--auth-key", f"{key},{secret}", "--config", "/dev/null"]
        command = [str(program), "serve", "s3", *options, "--vfs-cache-mode", "off", "--dir-cache-time", "0"]
        with subprocess.Popen([*command, folder], stderr=subprocess.DEVNULL) as server:
            try:
                wait_for(port, server)
                found = {
                    "AWS_ACCESS_KEY_ID": key,
                    "AWS_SECRET_ACCESS_KEY": secret,
                    "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
                    "AWS_EC2_METADATA_DISABLED": "true",
                }
                yield ObjectStore(Path(folder), found)
            finally:
                server.terminate()


@contextmanager
def run_spark() -> Iterator[SparkSession]:
    """A driver, a master, two workers and their two executors, each executor a process of its own."""
    need(shutil.which("java") or os.environ.get("JAVA_HOME"), "Java")
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="tallytree-spark-") as folder:
        os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": folder, "SPARK_LOCAL_DIRS": folder}
        session = (
            SparkSession.builder.master("local-cluster[2,1,1024]")
            .appName("tests")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.scheduler.minRegisteredResourcesRatio", "1")  # wait for both
            .config("spark.scheduler.maxRegisteredResourcesWaitingTime", "120s")
            .config("spark.executor.extraJavaOptions", HASTY_JAVA)
            .config("spark.sql.shuffle.partitions", "2")  # one for each
            .config("spark.sql.warehouse.dir", folder)
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        try:
            yield session
        finally:
            session.stop()


def wait_for(port: int, server: subprocess.Popen[bytes]) -> None:
    """Wait until a server answers at a port of this machine."""
    while server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        select.select([], [], [], 0.05)
    pytest.fail("A server ended before it answered.")


def find_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fill(url: str, name: str, table: pa.Table) -> None:
    """Put a table into the database, under any name."""
    kinds = [sql.SQL("bigint" if pa.types.is_integer(kind) else "text") for kind in table.schema.types]
    names = [sql.Identifier(name) for name in table.column_names]
    columns = sql.SQL(", ").join(sql.SQL("{} {}").format(*pair) for pair in zip(names, kinds, strict=True))
    with psycopg.connect(url) as connection:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), columns))
        copy = sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))
        with connection.cursor().copy(copy) as rows:
            for row in table.to_pylist():
                rows.write_row(list(row.values()))


def connect_mariadb(url: str) -> Any:
    """Connect to the database by its driver."""
    port = urlsplit(url).port or 0
    return pymysql.connect(
        host="127.0.0.1",
        port=port,
        user="tester",
        password="it's secret",
        database="census",
        charset="utf8mb4",
    )


def fill_rows(connection: Any, name: str, table: pa.Table, *, mark: str, quote: str) -> None:
    """Put a table into a database by its driver's cursor: ``mark`` stands for a value in its SQL."""

    def write(word: str) -> str:
        return quote + word.replace(quote, 2 * quote) + quote

    text = "VARCHAR(200) CHARACTER SET utf8mb4" if mark == "%s" else "TEXT"
    kinds = ["BIGINT" if pa.types.is_integer(kind) else text for kind in table.schema.types]
    columns = ", ".join(
        f"{write(column)} {kind}" for column, kind in zip(table.column_names, kinds, strict=True)
    )
    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS {write(name)}")
    cursor.execute(f"CREATE TABLE {write(name)} ({columns})")
    rows = [tuple(row.values()) for row in table.to_pylist()]
    cursor.executemany(f"INSERT INTO {write(name)} VALUES ({', '.join([mark] * table.num_columns)})", rows)
    connection.commit()
