package store_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/internal/store/storetest"
)

func openSQLite(t testing.TB, file string, f store.Fencing) *store.SQLite {
	t.Helper()
	l, err := store.OpenSQLite(context.Background(), file, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T, f store.Fencing) store.Ledger {
		return openSQLite(t, filepath.Join(t.TempDir(), "ledger.db"), f)
	})
}

// TestSQLiteRecovers: versions, values, fences and numbers go on where the file ends.
func TestSQLiteRecovers(t *testing.T) {
	ctx := context.Background()
	file := filepath.Join(t.TempDir(), "a name with spaces?and%20more#.db")
	fenced := store.Fencing{Writes: true, Reads: true}
	l := openSQLite(t, file, fenced)
	for _, step := range []struct {
		key          string
		write        bool
		token, value int64
	}{{"a", true, 5, 50}, {"a", true, 6, 60}, {"a", false, 9, 0}, {"a", true, 7, 70}, {"b", true, 2, 20}, {"c", false, 4, 0}} {
		_, err := l.Do(ctx, store.Request{Key: step.key, Token: step.token, Value: step.value}, step.write)
		if err != nil && !errors.Is(err, store.ErrRefused) {
			t.Fatal(err)
		}
	}
	before, err := l.Entries(ctx, 0, 100)
	if err != nil || len(before) != 6 {
		t.Fatal(before, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Do(ctx, store.Request{Key: "a"}, false); err == nil || store.Definite(err) {
		t.Errorf("after Close: %v", err)
	}

	l = openSQLite(t, file, fenced)
	after, err := l.Entries(ctx, 0, 100)
	if err != nil || !reflect.DeepEqual(before, after) {
		t.Fatalf("reopened: %v, %v", after, err)
	}
	if _, err := l.Do(ctx, store.Request{Key: "a", Token: 8, Value: 80}, true); !errors.Is(err, store.ErrRefused) {
		t.Errorf("the fence of a stood at 9: %v", err)
	}
	if _, err := l.Do(ctx, store.Request{Key: "c", Token: 3}, true); !errors.Is(err, store.ErrRefused) {
		t.Errorf("the fence of c stood at 4: %v", err)
	}
	e, err := l.Do(ctx, store.Request{Key: "a", Token: 9}, false)
	if err != nil || e.Seq != 9 || e.Version != 2 || e.Value != 60 {
		t.Errorf("%+v, %v", e, err)
	}
}

// TestSQLiteIsAppendOnly: not even with SQL.
func TestSQLiteIsAppendOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ledger.db")
	l := openSQLite(t, file, store.Fencing{})
	if _, err := l.Do(context.Background(), store.Request{Key: "a"}, true); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{`UPDATE ledger SET value = 1`, `DELETE FROM ledger`} {
		if _, err := db.Exec(statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func TestSQLiteRefusesToOpen(t *testing.T) {
	ctx := context.Background()
	if l, err := store.OpenSQLite(ctx, filepath.Join(t.TempDir(), "no", "such", "folder", "x.db"), store.Fencing{}); err == nil {
		l.Close()
		t.Error("opened in a folder that does not exist")
	} else if !strings.Contains(err.Error(), "x.db") {
		t.Errorf("the error does not name the file: %v", err)
	}
	if _, err := store.OpenSQLite(ctx, filepath.Join(t.TempDir(), "x.db"), store.Fencing{Reads: true}); !errors.Is(err,
		store.ErrBadRequest) {
		t.Errorf("a fence of reads only: %v", err)
	}
}
