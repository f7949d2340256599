package store

// mariadbSchema makes the tables, a trigger that keeps the ledger append-only for everyone (but for
// TRUNCATE, which fires none), and the procedure of a request. Keys are bytes: MariaDB's collations
// of text take "a" and "a " for the same.
//
// A request is atomic and alone at any isolation level. It is one transaction, and its first
// statement changes the row of head, of the request's own epoch, so that InnoDB makes every other
// request and claim wait until it has ended. All that it looks at it reads by UPDATE or FOR UPDATE,
// which see what is committed now, and not a snapshot.
var mariadbSchema = []string{
	`CREATE TABLE IF NOT EXISTS head (one BOOLEAN PRIMARY KEY, epoch BIGINT NOT NULL, seq BIGINT NOT NULL, at BIGINT NOT NULL) ENGINE=InnoDB`,
	"CREATE TABLE IF NOT EXISTS registers (`key` VARBINARY(256) PRIMARY KEY, version BIGINT NOT NULL DEFAULT 0, value BIGINT NOT NULL DEFAULT 0," + `
	fence BIGINT NOT NULL DEFAULT 0, holder BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB`,
	"CREATE TABLE IF NOT EXISTS ledger (seq BIGINT PRIMARY KEY, at BIGINT NOT NULL, `key` VARBINARY(256) NOT NULL," + `
	op BIGINT NOT NULL, granted BIGINT NOT NULL, client INT NOT NULL, token BIGINT NOT NULL,
	written BOOLEAN NOT NULL, refused BOOLEAN NOT NULL, conflict BOOLEAN NOT NULL,
	version BIGINT NOT NULL, value BIGINT NOT NULL, replaced BIGINT NOT NULL, fence BIGINT NOT NULL,
	mode VARCHAR(16) NOT NULL, base BIGINT NOT NULL) ENGINE=InnoDB`,
	"CREATE TABLE IF NOT EXISTS changes (id BIGINT AUTO_INCREMENT PRIMARY KEY, at BIGINT NOT NULL, `key` VARBINARY(256) NOT NULL," + `
	op BIGINT NOT NULL, granted BIGINT NOT NULL, client INT NOT NULL, token BIGINT NOT NULL,
	version BIGINT NOT NULL, value BIGINT NOT NULL, replaced BIGINT NOT NULL, fence BIGINT NOT NULL,
	mode VARCHAR(16) NOT NULL, base BIGINT NOT NULL) ENGINE=InnoDB`,
	`CREATE TRIGGER IF NOT EXISTS ledger_keeps BEFORE DELETE ON ledger FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the ledger is append-only'`,
	`CREATE TRIGGER IF NOT EXISTS ledger_stays BEFORE UPDATE ON ledger FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the ledger is append-only'`,
	mariadbRequest,
}

// mariadbClaim begins an epoch, and makes the head where there is none.
const mariadbClaim = `INSERT INTO head (one, epoch, seq, at) VALUES (TRUE, 1, 0, 0) ON DUPLICATE KEY UPDATE epoch = epoch + 1 RETURNING epoch, seq`

// mariadbFence is the fence: the one condition that a fenced store adds to the UPDATE that anyone
// would write.
const mariadbFence = `(NOT p_fenced OR fence < p_token OR fence = p_token AND (holder = p_grant OR p_equal))`

// mariadbRequest decides a request, carries it out and enters it into the ledger. Of another epoch
// it changes nothing and answers with no row.
const mariadbRequest = `
CREATE PROCEDURE IF NOT EXISTS request (p_epoch BIGINT, p_at BIGINT, p_key VARBINARY(256), p_op BIGINT, p_grant BIGINT, p_client INT, p_token BIGINT,
	p_write BOOLEAN, p_value BIGINT, p_mode VARCHAR(16), p_base BIGINT, p_fenced BOOLEAN, p_reads BOOLEAN, p_equal BOOLEAN)
MODIFIES SQL DATA
request: BEGIN
	DECLARE v_seq, v_at, v_version, v_value, v_fence, v_replaced, v_done BIGINT DEFAULT 0;
	DECLARE v_passed, v_refused, v_conflict BOOLEAN DEFAULT FALSE;
	DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
	START TRANSACTION;
	UPDATE head SET seq = seq + 1, at = GREATEST(at, p_at) WHERE epoch = p_epoch;
	IF ROW_COUNT() = 0 THEN
		ROLLBACK;
		LEAVE request;
	END IF;
	SELECT seq, at INTO v_seq, v_at FROM head FOR UPDATE;
	INSERT INTO registers (` + "`key`" + `) VALUES (p_key) ON DUPLICATE KEY UPDATE version = version;
	IF p_write THEN
		UPDATE registers SET version = version + 1, value = IF(p_mode = 'add', value + p_value, p_value),
			fence = IF(p_fenced, p_token, fence), holder = IF(p_fenced, p_grant, holder)
		WHERE ` + "`key`" + ` = p_key AND ` + mariadbFence + ` AND (p_mode <> 'if-version' OR version = p_base);
		SET v_done = ROW_COUNT();
	ELSEIF p_reads THEN
		UPDATE registers SET fence = p_token, holder = p_grant WHERE ` + "`key`" + ` = p_key AND fence < p_token;
	END IF;
	SELECT version, value, fence, ` + mariadbFence + ` INTO v_version, v_value, v_fence, v_passed FROM registers WHERE ` + "`key`" + ` = p_key FOR UPDATE;
	IF p_write AND v_done THEN
		SET v_replaced = v_version - 1;
	ELSEIF p_write THEN
		SET v_refused = NOT v_passed, v_conflict = v_passed, v_version = 0, v_value = p_value;
	END IF;
	INSERT INTO ledger VALUES (v_seq, v_at, p_key, p_op, p_grant, p_client, p_token, p_write, v_refused, v_conflict, v_version, v_value, v_replaced, v_fence, p_mode, p_base);
	COMMIT;
	SELECT v_seq, v_at, v_refused, v_conflict, v_version, v_value, v_replaced, v_fence;
END request`

const mariadbEntries = "SELECT seq, at, `key`, op, granted, client, token, written, refused, conflict, version, value, replaced, fence, mode, base FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?"
