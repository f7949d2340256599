package strictyaml

// SchemaLine is the comment by which an editor's YAML language server finds the JSON Schema of a
// file (docs/schema/NAME.json): it then completes keys and marks mistakes while one types.
func SchemaLine(name string) string {
	return "# yaml-language-server: $schema=https://raw.githubusercontent.com/lockchaos/lockchaos/main/docs/schema/" +
		name + ".json\n"
}
