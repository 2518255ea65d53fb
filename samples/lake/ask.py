#!/usr/bin/env python3
"""Asks a lake of mbforensics on an engine that is already there: Apache Spark, Polars or DuckDB.

    spark-submit ask.py LAKE QUESTION [NAME=VALUE ...]
    python3 ask.py LAKE QUESTION [NAME=VALUE ...] --engine polars

QUESTION is the name of a question that mbforensics has (`mbforensics lake ask` lists them), or a file of SQL; several
are separated by commas. Rows go to standard output, or with --out to DIR/QUESTION.csv: as CSV, or as JSON objects, one
a line.
"""
import argparse
import csv
import decimal
import glob
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# In a copy of the repository and in the installed package, the questions are here.
QUESTIONS = os.path.join(HERE, '..', '..', 'queries', 'lake')
PARAM = re.compile(r'^-- @param\s+(\w+)\s+(VARCHAR|BIGINT)\s', re.M)
DEFAULT = re.compile(r'^-- @default\s+(\w+)(?: +(.*))?$', re.M)
# Text and comments are taken whole, so that nothing in them is read as code.
TOKEN = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/|\$(\w+)", re.S)
SPARK_TYPES = {'VARCHAR': 'STRING', 'INTEGER': 'INT', 'VARCHAR[]': 'ARRAY<STRING>'}


def read_question(name, folder):
    """The statement of a question with its parameters' types and defaults."""
    path = name if name.endswith('.sql') else os.path.join(folder, name + '.sql')
    with open(path, encoding='utf8') as file:
        text = file.read()
    types = dict(PARAM.findall(text))
    values = {key: value.strip() for key, value in DEFAULT.findall(text)}
    return text, types, values


def literal(text, kind):
    """A value as every engine reads it. Quotes and backslashes are escaped in ways of their own, so none is let in."""
    if kind == 'BIGINT':
        # A sign in front of a sign would begin a comment.
        return '%d' % int(text) if int(text) >= 0 else '(%d)' % int(text)
    if re.search(r"['\\\x00-\x1f]", text):
        raise SystemExit('ask.py: a value cannot have quotes, backslashes or control characters: %r' % text)
    return "'%s'" % text


def with_values(text, types, values):
    """The statement with literals in the place of $names, and without comments."""

    def replaced(match):
        if match.group(1) is None:
            return ' ' if match.group(0)[0] in '-/' else match.group(0)
        name = match.group(1)
        if name not in types or name not in values:
            raise SystemExit('ask.py: the parameter %s needs a type and a value' % name)
        return literal(values[name], types[name])

    return TOKEN.sub(replaced, text).strip().rstrip(';')


def tables_of(lake, statement):
    """What the statement names, of the tables of the lake: name, columns and files."""
    with open(os.path.join(lake, 'mbforensics-lake.json'), encoding='utf8') as file:
        described = json.load(file)['tables']
    words = set(re.findall(r'[a-z_]\w*', statement))
    for table in described:
        if table['name'] in words:
            pattern = os.path.join(lake, table['name'], 'run=*', 'rank_block=*', 'part-*.parquet')
            columns = [(column['name'], column['type']) for column in table['columns']]
            yield table['name'], columns, sorted(glob.glob(pattern))


def ask_spark(lake, statement):
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName('mbforensics').getOrCreate()
    # Columns of maps are left out: engines differ in their types, and no question reads one.
    for name, columns, files in tables_of(lake, statement):
        schema = ', '.join(
            '`%s` %s' % (column, SPARK_TYPES.get(kind, kind)) for column, kind in columns if not kind.startswith('MAP'))
        reader = spark.read.schema(schema)
        root = os.path.join(os.path.abspath(lake), name)
        rows = reader.option('basePath', root).parquet(root) if files else spark.createDataFrame([], schema)
        rows.createOrReplaceTempView(name)
    rows = spark.sql(statement)
    return rows.columns, (list(row) for row in rows.collect())


POLARS_TYPES = {'VARCHAR': 'String', 'INTEGER': 'Int32', 'BIGINT': 'Int64', 'DOUBLE': 'Float64', 'BOOLEAN': 'Boolean'}


def ask_polars(lake, statement):
    import polars

    context = polars.SQLContext()
    hive = {'run': polars.String, 'rank_block': polars.Int32}
    for name, columns, files in tables_of(lake, statement):
        schema = {column: getattr(polars, POLARS_TYPES.get(kind, 'Null')) for column, kind in columns}
        rows = polars.LazyFrame(schema=schema)
        if files:
            rows = polars.scan_parquet(files, hive_partitioning=True, hive_schema=hive, missing_columns='insert')
        context.register(name, rows)
    rows = context.execute(statement).collect()
    return rows.columns, rows.iter_rows()


def ask_duckdb(lake, statement):
    import duckdb

    connection = duckdb.connect()
    for name, columns, files in tables_of(lake, statement):
        pattern = os.path.join(lake, name, 'run=*', 'rank_block=*', 'part-*.parquet').replace("'", "''")
        types = "hive_partitioning = true, hive_types = {'run': VARCHAR, 'rank_block': INTEGER}"
        text = "SELECT * FROM read_parquet('%s', %s)" % (pattern, types)
        if not files:
            text = 'SELECT %s WHERE false' % ', '.join('NULL::%s AS "%s"' % (kind, column) for column, kind in columns)
        connection.execute('CREATE VIEW "%s" AS %s' % (name, text))
    rows = connection.execute(statement)
    return [column[0] for column in rows.description], rows.fetchall()


def plain(value):
    """Sums are decimals without a fraction in one engine, integers in another; numbers and truth print alike."""
    if isinstance(value, bool):
        return value
    if isinstance(value, decimal.Decimal) and value == value.to_integral_value():
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def csv_field(value):
    return str(plain(value)).lower() if isinstance(value, bool) else plain(value)


def write_rows(file, form, columns, rows):
    if form == 'csv':
        writer = csv.writer(file, lineterminator='\n')
        writer.writerow(columns)
        writer.writerows([csv_field(value) for value in row] for row in rows)
    else:
        for row in rows:
            print(json.dumps(dict(zip(columns, (plain(value) for value in row)))), file=file)


def main(args):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('lake', help='the directory of mbforensics-lake.json')
    parser.add_argument('questions', metavar='question', help='names, or files of SQL')
    parser.add_argument('values', nargs='*', metavar='name=value', help='parameters; each has a default')
    parser.add_argument('--engine', choices=('spark', 'polars', 'duckdb'), default='spark')
    parser.add_argument('--format', choices=('csv', 'json'), default='csv')
    parser.add_argument('--out', help='a folder for files of rows')
    parser.add_argument('--texts', default=QUESTIONS, help='the folder queries/lake of mbforensics')
    options = parser.parse_args(args)
    given = dict(value.partition('=')[::2] for value in options.values)
    names = options.questions.split(',')
    for name in names:
        text, types, values = read_question(name, options.texts)
        for key in given:
            if key not in types and len(names) == 1:
                parser.error('%s has no parameter %s; it has: %s' % (name, key, ', '.join(types) or 'none'))
        values.update((key, value) for key, value in given.items() if key in types)
        statement = with_values(text, types, values)
        ask = {'spark': ask_spark, 'polars': ask_polars, 'duckdb': ask_duckdb}[options.engine]
        columns, rows = ask(options.lake, statement)
        if options.out is None:
            write_rows(sys.stdout, options.format, columns, rows)
        else:
            os.makedirs(options.out, exist_ok=True)
            path = os.path.join(options.out, '%s.%s' % (os.path.basename(name), options.format))
            with open(path, 'w', encoding='utf8') as file:
                write_rows(file, options.format, columns, rows)


if __name__ == '__main__':
    main(sys.argv[1:])
