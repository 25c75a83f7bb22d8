package image_test

import (
	"os"
	"path"
	"strings"
	"testing"
)

const repository = "../.."

// instruction is one of the Dockerfile.
type instruction struct{ name, args string }

// stage is what is between two FROM.
type stage struct {
	base, platform, name string
	instructions         []instruction
}

// dockerfile are the ARG before the first FROM, and the stages.
type dockerfile struct {
	args   map[string]string
	stages []stage
}

// parse reads the Dockerfile.
func parse(t *testing.T) dockerfile {
	t.Helper()
	text, err := os.ReadFile(repository + "/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	d := dockerfile{args: map[string]string{}}
	joined := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "#") || joined == "" && strings.TrimSpace(line) == "" {
			continue
		}
		if head, ok := strings.CutSuffix(line, "\\"); ok {
			joined += head
			continue
		}
		name, args, _ := strings.Cut(joined+line, " ")
		joined = ""
		d.add(t, instruction{name, strings.TrimSpace(args)})
	}
	return d
}

func (d *dockerfile) add(t *testing.T, i instruction) {
	t.Helper()
	switch {
	case i.name == "FROM":
		s := stage{}
		words := strings.Fields(i.args)
		if p, ok := strings.CutPrefix(words[0], "--platform="); ok {
			s.platform, words = p, words[1:]
		}
		if len(words) != 3 || words[1] != "AS" {
			t.Fatalf("FROM %s: want an image and a name", i.args)
		}
		s.base = d.args[strings.Trim(words[0], "${}")]
		s.name = words[2]
		d.stages = append(d.stages, s)
	case len(d.stages) == 0:
		name, value, ok := strings.Cut(i.args, "=")
		if i.name != "ARG" || !ok {
			t.Fatalf("%s %s before the first FROM", i.name, i.args)
		}
		d.args[name] = value
	default:
		last := &d.stages[len(d.stages)-1]
		last.instructions = append(last.instructions, i)
	}
}

// stage returns the stage of that name.
func (d dockerfile) stage(t *testing.T, name string) stage {
	t.Helper()
	for _, s := range d.stages {
		if s.name == name {
			return s
		}
	}
	t.Fatalf("no stage %s", name)
	return stage{}
}

// all returns the arguments of every instruction of that name.
func (s stage) all(name string) []string {
	var found []string
	for _, i := range s.instructions {
		if i.name == name {
			found = append(found, i.args)
		}
	}
	return found
}

// ignored reports whether .dockerignore keeps a file from the builder: the last
// line that matches decides.
func ignored(t *testing.T, file string) bool {
	t.Helper()
	text, err := os.ReadFile(repository + "/.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	out := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, not := strings.CutPrefix(line, "!")
		if matches(pattern, file) {
			out = !not
		}
	}
	return out
}

// matches knows what .dockerignore uses: names, * and a leading **/, each for a
// file or a folder above it.
func matches(pattern, file string) bool {
	deep, anywhere := strings.CutPrefix(pattern, "**/")
	parts := strings.Split(file, "/")
	for n := 1; n <= len(parts); n++ {
		subject := strings.Join(parts[:n], "/")
		if anywhere {
			pattern, subject = deep, parts[n-1]
		}
		if ok, _ := path.Match(pattern, subject); ok {
			return true
		}
	}
	return false
}
