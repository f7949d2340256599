package backends_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/store"
)

// TestLocksKnowTheServices: locks do not import the services that they are
// tested on, so what both must know stands in both, and is the same.
func TestLocksKnowTheServices(t *testing.T) {
	for _, c := range []struct{ folder, constant, want string }{
		{"../../clients/redis", "primaryName", backends.FailoverMaster},
		{"../../clients/postgres", "user", store.PostgresUser},
		{"../../clients/postgres", "database", store.PostgresDatabase},
		{"../../clients/postgres", "user", backends.PostgresUser},
		{"../../clients/postgres", "database", backends.PostgresDatabase},
		{"../../clients/mariadb", "user", store.MariaDBUser},
		{"../../clients/mariadb", "database", backends.MariaDBDatabase},
		{"../../clients/s3", "bucketName", store.S3Bucket},
		{"../../clients/s3", "accessKey", store.S3Key},
		{"../../clients/s3", "secretKey", store.S3Secret},
	} {
		if got := constantOf(t, c.folder, c.constant); got != c.want {
			t.Errorf("%s: %s is %q, and the service has %q", c.folder, c.constant, got, c.want)
		}
	}
}

// constantOf is the value of a package's text constant, as its source says.
func constantOf(t *testing.T, folder, constant string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, local := n.(*ast.FuncDecl); local {
				return false
			}
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, id := range spec.Names {
				if id.Name != constant {
					continue
				}
				if text, ok := spec.Values[i].(*ast.BasicLit); ok {
					value, err := strconv.Unquote(text.Value)
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, value)
				}
			}
			return true
		})
	}
	if len(found) != 1 {
		t.Fatalf("%s: %d text constants %s, want one: has it another name now?", folder, len(found), constant)
	}
	return found[0]
}
