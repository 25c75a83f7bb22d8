package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// node is one record of the JSON inventory.
type node struct {
	Name      string `json:"name"`
	PrivateIP string `json:"private_ip"`
	Ready     bool   `json:"ready"`
	Worker    bool   `json:"worker"`
	Leaving   bool   `json:"leaving,omitempty"`
}

// inventory is the file that the daemon reads as the remote cluster.
type inventory struct{ path string }

// write replaces the file in one step, as a careful writer does.
func (i inventory) write(nodes []node) error {
	var text bytes.Buffer
	text.WriteByte('[')
	for n, record := range nodes {
		line, err := json.Marshal(record)
		if err != nil {
			return err
		}
		if n > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "\n  %s", line)
	}
	text.WriteString("\n]\n")
	return i.replace(text.Bytes())
}

// replace gives the file another content in one step.
func (i inventory) replace(content []byte) error {
	next := i.path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil { //nolint:gosec // in the demo's own folder
		return err
	}
	return os.Rename(next, i.path)
}

// truncate cuts the file in half, as a writer does that died half-way.
func (i inventory) truncate() error {
	content, err := os.ReadFile(i.path)
	if err != nil {
		return err
	}
	return i.replace(content[:len(content)/2])
}

// empty makes the file a complete list of no nodes.
func (i inventory) empty() error { return i.replace([]byte("[]\n")) }

// remove takes the file away.
func (i inventory) remove() error { return os.Remove(i.path) }

// text returns the file as it is.
func (i inventory) text() (string, error) {
	content, err := os.ReadFile(i.path)
	return string(content), err
}
