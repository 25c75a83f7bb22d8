package archtest_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rules are about what code says, wherever it stands.
var rules = []struct {
	name   string
	reason string
	// except are the places where the rule does not hold.
	except []string
	check  func(unit) []violation
}{
	{
		"environment", "the environment is read in one place, where all mistakes are reported together",
		[]string{"internal/settings", "cmd", "test"},
		func(u unit) []violation {
			return u.mentions("os", "Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv")
		},
	},
	{
		"proxy", "the error of net/http repeats the value, which may hold a password; package wire asks for it",
		[]string{"internal/transport", "test"},
		func(u unit) []violation { return u.mentions("net/http", "ProxyFromEnvironment") },
	},
	{
		"the Pod's cluster", "in a Pod these take its own cluster where a kubeconfig says nothing",
		nil,
		func(u unit) []violation {
			return u.mentions("k8s.io/client-go/tools/clientcmd", "NewNonInteractiveDeferredLoadingClientConfig",
				"NewInteractiveDeferredLoadingClientConfig", "BuildConfigFromFlags", "BuildConfigFromKubeconfigGetter")
		},
	},
	{
		"init", "what a program does at its start is written in main, where one can read it",
		nil, initFunctions,
	},
	{
		"context", "a context comes from the caller, whose shutdown and deadline it carries",
		[]string{"cmd", "examples", "hack", "test/traffic/load", "test/traffic/backend"},
		func(u unit) []violation { return u.mentions("context", "Background", "TODO") },
	},
	{
		"sleep", "a sleep cannot be stopped; wait for a timer and the context",
		[]string{"test"},
		func(u unit) []violation { return u.mentions("time", "Sleep") },
	},
	{
		"exit", "only main ends the program; everyone else returns an error",
		[]string{"cmd", "examples", "hack", "test"},
		func(u unit) []violation {
			return slices.Concat(u.mentions("os", "Exit"), u.mentions("log", "Fatal", "Fatalf", "Fatalln"))
		},
	},
	{
		"participle", "a type is named for what it is, not for what was done to it",
		nil, participles,
	},
	{
		"package comment", "a package says what comes in, what goes out and what it never does",
		nil, packageComment,
	},
	{
		"globals", "a package-level variable that changes is an input and an output that no signature shows",
		[]string{"test/netns" /* one namespace for all tests of a binary, so one list of who holds what in it */, "test/bubble" /* the processors are the process's, so it counts the bubbles of all tests */, "test/lab" /* one pair of networks for all worlds of a binary, so one count of what has a name and an address there */, "internal/system" /* a file that hangs costs the process one goroutine, whoever asks */}, changingGlobals,
	},
}

func TestCodeKeepsTheRules(t *testing.T) {
	units := load(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, u := range units {
				if !in(u.dir, rule.except...) {
					report(t, rule.name, rule.reason, rule.check(u))
				}
			}
		})
	}
}

func initFunctions(u unit) []violation {
	var violations []violation
	u.inspect(func(node ast.Node) {
		if f, ok := node.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			violations = append(violations, u.at(f, "has a func init"))
		}
	})
	return violations
}

// noun are words that end as a participle does.
var noun = regexp.MustCompile(`^(.+[A-Z].*|Feed|feed|Binding|Finding|Listing|Setting|Spelling|beginning|encoding|ending|ruling|setting|standing)$`)

var participle = regexp.MustCompile(`^(?i:.*ed|.*ing|known|shown|told|left|seen|sent|lost|held|kept|made|given|taken|gone)$`)

func participles(u unit) []violation {
	var violations []violation
	u.inspect(func(node ast.Node) {
		if t, ok := node.(*ast.TypeSpec); ok && participle.MatchString(t.Name.Name) && !noun.MatchString(t.Name.Name) {
			violations = append(violations, u.at(t, "the type %s is named by a participle", t.Name.Name))
		}
	})
	return violations
}

func packageComment(u unit) []violation {
	for _, p := range u.parts {
		want := "Package " + p.Name.Name + " "
		if p.Name.Name == "main" {
			want = "Command "
		}
		if p.Doc != nil && strings.HasPrefix(p.Doc.Text(), want) {
			return nil
		}
	}
	return []violation{{at: u.dir, what: "no file has a package comment"}}
}
