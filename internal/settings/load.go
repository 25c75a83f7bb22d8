package settings

import (
	"slices"
	"strings"
)

// Origin says where the value of a variable comes from.
type Origin string

// The origins.
const (
	FromDefault     Origin = "default"
	FromEnvironment Origin = "environment"
	// FromFile is a secret that the file of its _FILE twin holds.
	FromFile Origin = "file"
	// Derived is a default that follows from other variables.
	Derived Origin = "derived"
)

// Load turns an environment, as a list of NAME=value, into a configuration. If
// anything is wrong it returns Mistakes, all of them, and no configuration.
//
// It depends on nothing but its arguments and the files that hold secrets and
// certificates. A blank variable counts as unset. Of a name that stands twice
// the first counts, as it does for os.Getenv. Without documents, rules says what is
// wrong with the pool and the target of a configuration whose values have their form.
func Load(environ []string, rules func(Config) []Mistake) (Config, error) {
	c := new(Config)
	l := newLoader(environ, c, variablesOf(c))
	l.derive()
	l.check()
	c.origins, c.warnings = l.origins, l.warnings
	if !l.byDocuments() {
		found := slices.DeleteFunc(rules(*c), func(m Mistake) bool { return !l.sound(m.Variable) })
		for _, m := range found {
			l.mistake(m.Variable, m.Rule, m.Remedy)
		}
	}
	if len(l.mistakes) > 0 {
		return Config{}, l.mistakes.sorted(l.place)
	}
	return *c, nil
}

// loader holds what Load knows so far.
type loader struct {
	// raw is the environment as it is, for the programs that we start; env
	// holds what is not blank, without surrounding white space.
	raw, env  map[string]string
	config    *Config
	variables []variable
	// place is the position of every known name in the reference, from 1.
	place              map[string]int
	origins            map[string]Origin
	secrets            map[string]bool
	mistakes, warnings Mistakes
}

// newLoader loads each variable by itself.
func newLoader(environ []string, config *Config, variables []variable) *loader {
	l := &loader{
		raw:       map[string]string{},
		env:       map[string]string{},
		config:    config,
		variables: variables,
		place:     map[string]int{},
		origins:   map[string]Origin{},
		secrets:   map[string]bool{},
	}
	for _, entry := range slices.Backward(environ) {
		name, value, _ := strings.Cut(entry, "=")
		l.raw[name] = value
	}
	for name, value := range l.raw {
		if value = strings.TrimSpace(value); value != "" {
			l.env[name] = value
		}
	}
	for i, v := range l.variables {
		l.place[v.name] = i + 1
		if _, ok := v.secret(); ok {
			l.place[v.name+fileSuffix] = i + 1
			l.secrets[v.name], l.secrets[v.name+fileSuffix] = true, true
		}
		l.load(v)
	}
	l.checkUnknown()
	return l
}

// load fills one field, from the environment or else from its default.
func (l *loader) load(v variable) {
	if secret, ok := v.secret(); ok {
		l.loadSecret(v.name, secret)
		return
	}
	value, ok := l.env[v.name]
	if ok {
		l.origins[v.name] = FromEnvironment
		if isServiceLink(v.name, value) {
			l.mistake(v.name, "is set by Kubernetes for a Service named "+serviceName(v.name), "set enableServiceLinks: false in the Pod")
			return
		}
	} else if value = v.tags.Get("default"); value == "" {
		l.refuse(v.tags.Get("required") == "true" && !l.byDocuments(), v.name, "is required and not set", "set it, for example to "+v.tags.Get("example"))
		return
	}
	for _, p := range problems(decode(v.target(), value, v.tags)) {
		l.add(v.name, p)
	}
}

// loadSecret takes a secret from its variable or from the file that the twin
// names. The file is read once now, so that a missing one is a mistake.
func (l *loader) loadSecret(name string, secret *Secret) {
	twin := name + fileSuffix
	plain, hasPlain := l.env[name]
	path, hasFile := l.env[twin]
	switch {
	case hasPlain && hasFile:
		l.mistake(name, "and "+twin+" are both set", "remove one of them")
	case hasPlain:
		l.origins[name] = FromEnvironment
		if err := secret.Decode(plain); err != nil {
			l.mistake(name, err.Error(), "set it again, as one line")
		}
	case hasFile:
		l.origins[name], l.origins[twin] = FromFile, FromEnvironment
		*secret = SecretFile(path)
		if _, err := secret.Read(); err != nil {
			l.mistake(twin, "does not name a file with a secret: "+cause(err).Error(), "name a file that this process may read; the secret itself belongs into "+name)
		}
	}
}

// environments gathers what the programs that we start will get.
func (l *loader) environments() {
	files := map[string]Secret{}
	for _, v := range l.variables {
		if secret, ok := v.secret(); ok && l.origins[v.name] == FromFile {
			files[v.name] = *secret
		}
	}
	listed := l.config.Command.Env
	l.config.Command.Environment = newEnvironment(l.raw, func(name string) bool {
		return forInventoryCommand(name) || slices.Contains(listed, name)
	}).With(files)
	l.config.Store.Environment = newEnvironment(l.raw, forKubectl)
}

// set reports whether the environment sets a variable at all.
func (l *loader) set(name string) bool {
	_, ok := l.env[name]
	return ok
}

// sound reports whether none of the variables has a mistake. Rules that combine variables
// leave those that have one alone, so that one slip makes one mistake.
func (l *loader) sound(names ...string) bool {
	return !slices.ContainsFunc(l.mistakes, func(m Mistake) bool { return slices.Contains(names, m.Variable) })
}

// needs demands another variable where one is used.
func (l *loader) needs(other, name string, used bool) {
	l.refuse(used && !l.set(other), name, "has no effect without "+other, "set "+other)
}

// refuse notes a mistake where something is wrong.
func (l *loader) refuse(wrong bool, name, rule, remedy string) {
	if wrong {
		l.mistake(name, rule, remedy)
	}
}

// mistake notes what is wrong with a variable, and its value unless it may be a
// secret.
func (l *loader) mistake(name, rule, remedy string) {
	l.add(name, Problem{Rule: rule, Remedy: remedy})
}

func (l *loader) add(name string, p Problem) {
	value := l.env[name]
	if l.secrets[name] || p.hide {
		value = ""
	}
	mistake := Mistake{Variable: name, Value: value, Rule: p.Rule, Remedy: p.Remedy}
	if !slices.Contains(l.mistakes, mistake) {
		l.mistakes = append(l.mistakes, mistake)
	}
}
