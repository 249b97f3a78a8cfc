#!/bin/sh
# Makes the roles and the database, as the owner of the server: index writes galleries, serve reads them.
#   INDEX_PASSWORD=... SERVE_PASSWORD=... postgres-roles.sh
# Afterwards, when the first index has made the tables: psql -U index -d mail -f postgres-grants.sql
set -eu
psql --username "${POSTGRES_USER:-postgres}" --dbname "${POSTGRES_DB:-postgres}" --no-psqlrc --set ON_ERROR_STOP=1 \
     --set index="${INDEX_PASSWORD:?}" --set serve="${SERVE_PASSWORD:?}" <<'SQL'
CREATE ROLE index LOGIN PASSWORD :'index';
CREATE ROLE serve LOGIN PASSWORD :'serve';
CREATE DATABASE mail OWNER index;
REVOKE ALL ON DATABASE mail FROM PUBLIC;
GRANT CONNECT ON DATABASE mail TO serve;
SQL
