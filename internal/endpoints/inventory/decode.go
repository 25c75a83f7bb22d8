package inventory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"unicode/utf8"
)

// MaxBytes is the size of the largest JSON inventory that is read, 8 MiB: ten
// thousand nodes need some 2 MB with every key, and 8 MB with the longest names
// and ids that there are. To decode that much takes at most 96 MiB of the heap
// beside the document, whatever it holds.
const MaxBytes = 8 << 20

// Decode reads a JSON inventory: exactly one document, an array of records.
// It returns every record as a node, in the order of the document, or an error
// and no node at all; an empty array is an empty slice that is not nil.
//
//	key                     value
//	name                    string, required
//	private_ip              string, one address
//	private_ips             array of strings; this or private_ip is required
//	ready, worker           boolean, required
//	id, zone                string
//	leaving                 boolean
//
// Everything that could have two meanings is refused: keys that are unknown,
// repeated or in another case, null, and two records of the same node. Only an
// address that a node lists twice is read as one, because both say the same.
func Decode(data []byte) ([]Node, error) {
	nodes, err := decodeDocument(data)
	if err != nil {
		return nil, Fault(ErrIncomplete, fmt.Errorf("decode inventory: %w", err))
	}
	return nodes, nil
}

func decodeDocument(data []byte) ([]Node, error) {
	if err := checkDocument(data); err != nil {
		return nil, err
	}
	w := newWalker(data)
	top := w.next()
	if top.value != json.Delim('[') {
		return nil, w.malformed(top.at, "the document is %s, must be an array of records; an inventory of no nodes is []", top.kind())
	}
	nodes, known := []Node{}, identities{ids: map[string]int{}, names: map[string]recordNumbers{}}
	for w.json.More() {
		r := recordReader{walker: w, number: len(nodes) + 1, listed: map[netip.Addr]struct{}{}}
		if err := r.read(); err != nil {
			return nil, err
		}
		if err := known.add(&r); err != nil {
			return nil, err
		}
		nodes = append(nodes, r.node)
	}
	return nodes, nil
}

// checkDocument makes sure that data is one whole JSON document, so that the
// walk over its tokens meets no surprise.
func checkDocument(data []byte) error {
	w := newWalker(data)
	if len(data) > MaxBytes {
		return fmt.Errorf("the document is larger than %d bytes; list fewer nodes, or leave white space out", MaxBytes)
	}
	if bytes.HasPrefix(data, []byte("\uFEFF")) {
		return w.malformed(0, "the document begins with a byte order mark; save it as UTF-8 without one")
	}
	for at, c := range string(data) {
		if c == utf8.RuneError && !bytes.HasPrefix(data[at:], []byte("\uFFFD")) {
			return w.malformed(at, "byte 0x%02x is not UTF-8; save the document as UTF-8", data[at])
		}
	}
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return errors.New("the document is empty; an inventory of no nodes is []")
	}
	err := json.Unmarshal(data, new(anyJSON))
	syntax := new(json.SyntaxError)
	switch {
	case !errors.As(err, &syntax):
		return err
	case strings.HasPrefix(syntax.Error(), "unexpected end"):
		return w.malformed(len(data), "the document is truncated; it must be written whole before it is read")
	case strings.HasSuffix(syntax.Error(), "after top-level value"):
		return w.malformed(int(syntax.Offset)-1, "something follows the document; an inventory is one array and nothing else")
	}
	if yaml.Match(data) {
		return w.malformed(0, "the document is YAML; write JSON: an array of records with their keys and texts in double quotes")
	}
	return w.malformed(int(syntax.Offset)-1, "the document is not JSON: %w", syntax)
}

// yaml finds the beginning of a document in YAML that is not JSON as well: a comment, a
// mark, a list or a key alone in its line.
var yaml = regexp.MustCompile(`^\s*(#|%YAML|---|-\s|[A-Za-z_][\w-]*:[ \t]*\r?\n|\[\s*\{\s*[A-Za-z_][\w-]*:\s)`)

// anyJSON is any JSON document, of which nothing is kept: encoding/json looks at
// the syntax of all of it first, and needs no memory for that.
type anyJSON struct{}

// UnmarshalJSON does nothing.
func (*anyJSON) UnmarshalJSON([]byte) error { return nil }

// identities finds a node's second record, as Identity.Same does, without comparing
// every pair. It holds the numbers of records by their ids, and by their names.
type identities struct {
	ids   map[string]int
	names map[string]recordNumbers
}

// recordNumbers are the numbers of the last record with a name, and of the one with that name and
// no id; 0 for none.
type recordNumbers struct{ last, noID int }

// add adds the record's node, or says which record means the same node.
func (k identities) add(r *recordReader) error {
	id, others := r.node.ID, k.names[r.node.Name]
	rival := others.noID
	if id == "" {
		rival, others.noID = others.last, r.number
	}
	if first, ok := k.ids[id]; ok {
		return r.malformed(r.at, "record %d has the same \"id\" %s; list each node once", first, quote(id))
	}
	if rival != 0 {
		return r.malformed(r.at, "record %d has the same \"name\"; list each node once, or give both an \"id\"", rival)
	}
	if id != "" {
		k.ids[id] = r.number
	}
	others.last = r.number
	k.names[r.node.Name] = others
	return nil
}
