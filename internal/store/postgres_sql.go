package store

import "github.com/lockchaos/lockchaos/internal/logins"

// postgresSchema makes the tables. The ledger is append-only for everyone, not
// only for this program.
const postgresSchema = `
CREATE SCHEMA IF NOT EXISTS SCHEMA_NAME;
CREATE TABLE IF NOT EXISTS head (
	one boolean PRIMARY KEY DEFAULT true CHECK (one), epoch bigint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL
);
INSERT INTO head (epoch, seq, at) VALUES (0, 0, 0) ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS registers (
	key text PRIMARY KEY, version bigint NOT NULL DEFAULT 0, value bigint NOT NULL DEFAULT 0,
	fence bigint NOT NULL DEFAULT 0, holder bigint NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS ledger (
	seq bigint PRIMARY KEY, at bigint NOT NULL, key text NOT NULL,
	op bigint NOT NULL, "grant" bigint NOT NULL, client integer NOT NULL, token bigint NOT NULL,
	"write" boolean NOT NULL, refused boolean NOT NULL, conflict boolean NOT NULL,
	version bigint NOT NULL, value bigint NOT NULL, replaced bigint NOT NULL, fence bigint NOT NULL,
	mode text NOT NULL, base bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS changes (
	id bigserial PRIMARY KEY, at bigint NOT NULL, key text NOT NULL,
	op bigint NOT NULL, "grant" bigint NOT NULL, client integer NOT NULL, token bigint NOT NULL,
	version bigint NOT NULL, value bigint NOT NULL, replaced bigint NOT NULL, fence bigint NOT NULL,
	mode text NOT NULL, base bigint NOT NULL
);
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'the ledger is append-only'; END $$;
CREATE OR REPLACE TRIGGER ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger EXECUTE FUNCTION refuse_change();
`

// The statements of a request. All parts of one see the same state, that from before the
// statement; requests follow one another, so that it is the state that the request before
// left. head comes first: without its row, of the request's own epoch, nothing is changed.

// postgresRead reads, and raises the fence if this kind of store has it so.
const postgresRead = `
WITH numbered AS (
	UPDATE head SET seq = seq + 1, at = greatest(at, $2::bigint) WHERE epoch = $1::bigint RETURNING seq, at
), raised AS (
	UPDATE registers r SET fence = $7::bigint, holder = $5::bigint FROM numbered WHERE r.key = $3::text AND $8::boolean AND r.fence < $7 RETURNING r.fence
)
INSERT INTO ledger (seq, at, key, op, "grant", client, token, "write", refused, conflict, version, value, replaced, fence, mode, base)
SELECT n.seq, n.at, r.key, $4::bigint, $5, $6::integer, $7, false, false, false, r.version, r.value, 0, coalesce(raised.fence, r.fence), '', 0
FROM numbered n JOIN registers r ON r.key = $3 LEFT JOIN raised ON true
RETURNING seq, at, version, value, fence`

// fenceLets is the fence: the one condition that a fenced store adds to the
// UPDATE that anyone would write.
const fenceLets = `(NOT $11::boolean OR r.fence < $7 OR r.fence = $7 AND (r.holder = $5 OR $12::boolean))`

// versionLets is the condition of a write of mode WriteIfVersion.
const versionLets = `($9 <> 'if-version' OR r.version = $10::bigint)`

// guardMarks marks the tick as done in the scheduler's row, if its owner has that tick and it is
// not done. guardLets is the guard: the effect comes with the mark, or neither does. A write that
// finds another version is a conflict, and no refusal.
const (
	guardMarks = `, marked AS (
	UPDATE ` + logins.CronTable + ` c SET done = $7 FROM numbered, registers r
	WHERE c.key = $3 AND c.owner = $12::text AND c.tick = $7 AND c.done < $7 AND r.key = $3 AND ` + versionLets + ` RETURNING c.done
)`
	guardLets = `(EXISTS (SELECT FROM marked) OR NOT ` + versionLets + `)`
)

// postgresWrite writes where fence and version let it, postgresGuarded where guard and version do.
var (
	postgresWrite   = postgresWriting("", fenceLets)
	postgresGuarded = postgresWriting(guardMarks, guardLets)
)

func postgresWriting(marks, lets string) string {
	return `
WITH numbered AS (
	UPDATE head SET seq = seq + 1, at = greatest(at, $2::bigint) WHERE epoch = $1::bigint RETURNING seq, at
)` + marks + `, written AS (
	UPDATE registers r SET version = r.version + 1, value = CASE $9::text WHEN 'add' THEN r.value + $8::bigint ELSE $8 END,
		fence = CASE WHEN $11::boolean THEN $7::bigint ELSE r.fence END, holder = CASE WHEN $11 THEN $5::bigint ELSE r.holder END
	FROM numbered WHERE r.key = $3::text AND ` + lets + ` AND ` + versionLets + `
	RETURNING r.version, r.value, r.fence
)
INSERT INTO ledger (seq, at, key, op, "grant", client, token, "write", refused, conflict, version, value, replaced, fence, mode, base)
SELECT n.seq, n.at, r.key, $4::bigint, $5, $6::integer, $7, true, NOT ` + lets + `, w.version IS NULL AND ` + lets + `,
	coalesce(w.version, 0), coalesce(w.value, $8), CASE WHEN w.version IS NULL THEN 0 ELSE r.version END, coalesce(w.fence, r.fence), $9, $10
FROM numbered n JOIN registers r ON r.key = $3 LEFT JOIN written w ON true
RETURNING seq, at, refused, conflict, version, value, replaced, fence`
}
