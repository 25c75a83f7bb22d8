package docs_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

var (
	// called is the program where it is called; as the name of a Deployment or
	// a lease it stands behind a word or a slash. In runbooks in_pod calls it.
	called  = regexp.MustCompile(`(?:(?:^\s*|\$ |bin/|-- /?|cmd/)ionos-endpointslice-controller|^\s*in_pod)((?: +[^|;&#>\s]+)*)`)
	status  = regexp.MustCompile(`(?i)\bexit status ([0-9]+)`)
	offered = regexp.MustCompile(`(?m)^\s+(?:-([a-zA-Z]), )?--([a-z-]+)(?: ([a-z|]+))?`)
	listed  = regexp.MustCompile(`(?m)^  ([a-z]+) {2,}`)
	// executed is the program in a Pod. Its folder is not in the image's PATH.
	executed = regexp.MustCompile(`exec .*-- ionos-endpointslice-controller`)
)

// statuses are the exit statuses of the program.
var statuses = []int{
	cli.ExitOK, cli.ExitDifferent, cli.ExitUsage, cli.ExitSource, cli.ExitStore, cli.ExitRefused, cli.ExitLeaseLost, cli.ExitTimeout,
}

// command is what the help of one command says.
type command struct {
	flags []string
	// forms are the values of -o.
	forms []string
}

// commands asks the built program for its commands.
func commands(t *testing.T) map[string]command {
	t.Helper()
	all := map[string]command{}
	var ask func(path ...string)
	ask = func(path ...string) {
		help := says(t, append(slices.Clone(path), "--help")...)
		var c command
		_, flags, _ := strings.Cut(help, "\nFlags:\n")
		for _, f := range offered.FindAllStringSubmatch(flags, -1) {
			c.flags = append(c.flags, "--"+f[2])
			if f[1] != "" {
				c.flags = append(c.flags, "-"+f[1])
			}
			if f[2] == "output" {
				c.forms = strings.Split(f[3], "|")
			}
		}
		all[strings.Join(path, " ")] = c
		if _, below, ok := strings.Cut(help, "Available Commands:\n"); ok && len(path) < 2 {
			below, _, _ = strings.Cut(below, "\n\n")
			for _, name := range listed.FindAllStringSubmatch(below+"\n", -1) {
				ask(append(slices.Clone(path), name[1])...)
			}
		}
	}
	ask()
	return all
}

// misuse says what of a command line the program does not know.
func misuse(all map[string]command, words []string) string {
	name := ""
	for len(words) > 0 {
		longer := strings.TrimSpace(name + " " + words[0])
		if _, ok := all[longer]; !ok {
			break
		}
		name, words = longer, words[1:]
	}
	service := (name == "status" || name == "diff") && slices.Contains(words, "-n")
	takes := name == "explain" || name == "help" || service
	for i, word := range words {
		flag, _, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "-") && !slices.Contains(all[name].flags, flag):
			return "command " + strconv.Quote(name) + " has no flag " + flag
		case word == "-o" && i+1 < len(words) && !slices.Contains(all[name].forms, words[i+1]):
			return "command " + strconv.Quote(name) + " has no -o " + words[i+1]
		case word == `"$@"`, strings.HasPrefix(word, "-"), i > 0 && strings.HasPrefix(words[i-1], "-"), takes, name == "completion":
		default:
			return "command " + strconv.Quote(name) + " takes no " + word
		}
	}
	return ""
}

func TestPagesUseOnlyCommandsAndFlagsThatThereAre(t *testing.T) {
	all := commands(t)
	if len(all) < 12 {
		t.Fatalf("got commands %v", all)
	}
	uses := 0
	for _, p := range current(t) {
		p.code(func(line int, text string) {
			for _, found := range called.FindAllStringSubmatch(text, -1) {
				uses++
				if wrong := misuse(all, strings.Fields(found[1])); wrong != "" {
					t.Errorf("%s:%d: %s: %s", p.path, line, strings.TrimSpace(found[0]), wrong)
				}
			}
			if executed.MatchString(text) {
				t.Errorf("%s:%d: in the image the program is /ionos-endpointslice-controller", p.path, line)
			}
		})
		p.prose(func(line int, text string) {
			for _, s := range span.FindAllStringSubmatch(text, -1) {
				words := strings.Fields(s[1])
				if len(words) < 2 || all[words[0]].flags == nil {
					continue
				}
				uses++
				if wrong := misuse(all, strings.FieldsFunc(s[1], func(r rune) bool { return r == ' ' || r == '|' })); wrong != "" {
					t.Errorf("%s:%d: `%s`: %s", p.path, line, s[1], wrong)
				}
			}
		})
	}
	if uses < 50 {
		t.Errorf("got %d uses of commands: are they still recognised?", uses)
	}
}

func TestPagesNameOnlyExitStatusesThatThereAre(t *testing.T) {
	for _, p := range current(t) {
		for i, line := range p.lines {
			for _, found := range status.FindAllStringSubmatch(line, -1) {
				if n, err := strconv.Atoi(found[1]); err != nil || !slices.Contains(statuses, n) {
					t.Errorf("%s:%d: there is no %s", p.path, i+1, found[0])
				}
			}
		}
	}
}

func TestTheReferenceNamesEveryExitStatus(t *testing.T) {
	const path = "docs/reference/check.md"
	for _, n := range statuses {
		if !strings.Contains(read(t, path), "\n| "+strconv.Itoa(n)+" | ") {
			t.Errorf("%s: exit status %d is missing", path, n)
		}
	}
}

// upgrade.md says why: values that a new chart has would be missing.
func TestNoBlockUpgradesWithReusedValues(t *testing.T) {
	for _, p := range pages(t) {
		p.code(func(line int, text string) {
			if p.inBlock(line-1) && strings.Contains(text, "--reuse-values") {
				t.Errorf("%s: a block uses --reuse-values; give the values by a file", p.path)
			}
		})
	}
}

// The chart has no default for it, so a block without it would not install.
func TestEveryInstallationOfTheChartSetsTheSubnet(t *testing.T) {
	installs := regexp.MustCompile(`helm install |path: helm/ionos-endpointslice-controller`)
	count := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks {
			if !installs.MatchString(b.text) || strings.Contains(b.text, "helm/endpoint-views") {
				continue // that one publishes nothing
			}
			count++
			if !strings.Contains(b.text, "securedSubnetCidr") && !strings.Contains(b.text, " subnets: ") {
				t.Errorf("%s:%d: the block installs the chart without controller.securedSubnetCidr, or pools with subnets", p.path, b.line)
			}
		}
	}
	if count < 5 {
		t.Errorf("got %d blocks that install the chart: are they still recognised?", count)
	}
}
