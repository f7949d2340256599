package reports

// Attachment is a file beside the report that the page carries in itself, for those to whom only the page is forwarded.
type Attachment struct {
	Name string
	Data []byte
}
