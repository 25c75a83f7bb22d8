// Command mutate breaks the engine on purpose and shows which tests notice.
//
// Input is a seed, which chooses twenty functions and one change in each, and the
// repository in whose root it runs. Output is a line for each change. The command
// never changes the repository: the compiler gets the changed file by -overlay.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	draws = 20
	// enough is how many have to be noticed.
	enough = 18
	// limit is the time that the tests of a package have; a change that makes them hang is noticed by it.
	limit = "-timeout=5m"
	// memory bounds each program that is started: a change may make a test append for ever.
	memory = 8 << 30
)

// engine are the packages that are broken.
var engine = []string{"./internal/endpoints/guard", "./internal/endpoints/writer", "./internal/endpoints/publish", "./internal/endpoints/pool", "./internal/endpoints/assign", "./internal/endpoints/controller"}

// users are the packages whose tests try a change that the tests of its own package have not noticed.
var users = []string{"./internal/endpoints/controller", "./internal/endpoints/controllertest", "./internal/endpoints/cli", "./test/simulation/many"}

func main() {
	seed := flag.Uint64("seed", 1, "chooses functions and changes; the same seed of the same source chooses the same")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, seed uint64) error {
	functions, err := load(".")
	if err := errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: memory, Max: memory})); err != nil {
		return err
	}
	fmt.Printf("seed %d; first the tests have to pass as they are\n", seed)
	if by, err := test(ctx, "", slices.Concat(engine, users)...); by != "" || err != nil {
		return errors.Join(err, fmt.Errorf("the tests fail without a change: %s", by))
	}
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is a temporary folder
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(functions), func(i, j int) { functions[i], functions[j] = functions[j], functions[i] })
	drawn, noticed := 0, 0
	for ; drawn < draws && len(functions) > 0; functions = functions[1:] {
		c, overlay, err := draw(ctx, dir, functions[0], random)
		if err != nil {
			return err
		}
		if overlay == "" {
			continue
		}
		drawn++
		fmt.Printf("%2d %s:%d %s: %s: ", drawn, c.file, c.line, c.name, c.diff())
		by, err := judge(ctx, overlay, filepath.Dir(c.file))
		if err != nil {
			return err
		}
		if by == "" {
			fmt.Println("NOT NOTICED")
			continue
		}
		noticed++
		fmt.Println("noticed by", by)
	}
	fmt.Printf("noticed %d of %d\n", noticed, drawn)
	if noticed < enough {
		return fmt.Errorf("at least %d have to be noticed; what is promised and was not noticed lacks a test", enough)
	}
	return nil
}

// load finds the functions of the engine that can be broken.
func load(root string) (all []function, err error) {
	for _, name := range engine {
		files, err := filepath.Glob(filepath.Join(root, name, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			of, err := functionsOf(file, string(source))
			if err != nil {
				return nil, err
			}
			all = append(all, of...)
		}
	}
	return all, nil
}

// draw chooses a change of a function that compiles, and writes the overlay for it; "" where there is none.
func draw(ctx context.Context, dir string, f function, random *rand.Rand) (c change, overlay string, err error) {
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {f.file: changed}})
	if err != nil {
		return c, "", err
	}
	for _, i := range random.Perm(len(f.edits)) {
		c = change{f, f.edits[i]}
		if err := errors.Join(os.WriteFile(changed, []byte(c.source()), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
			return c, "", err
		}
		if out, err := goTool(ctx, "build", "-overlay="+overlay, "./"+filepath.Dir(f.file)); err == nil {
			return c, overlay, nil
		} else if out == "" || ctx.Err() != nil {
			return c, "", errors.Join(err, ctx.Err()) // no compiler was asked
		}
	}
	return c, "", nil
}

// judge says which test notices a change of a package; "" if none does.
func judge(ctx context.Context, overlay, dir string) (by string, err error) {
	if by, err = test(ctx, overlay, "./"+dir); by != "" || err != nil {
		return by, err
	}
	return test(ctx, overlay, users...)
}

// test runs tests and says what failed, "" if nothing did.
func test(ctx context.Context, overlay string, args ...string) (string, error) {
	out, err := goTool(ctx, append([]string{"test", "-overlay=" + overlay, "-short", "-failfast", "-vet=off", limit}, args...)...)
	if exit := new(exec.ExitError); ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return "", errors.Join(err, ctx.Err())
	}
	if err == nil {
		return "", nil
	}
	return failure(out), nil
}

var (
	failed  = regexp.MustCompile(`--- FAIL: (\S+)`)
	hanging = regexp.MustCompile(`panic: test timed out.*\n\s*running tests:\n\s*(\S+)`)
)

// failure names the test that failed first in what go test printed.
func failure(out string) string {
	if found := hanging.FindStringSubmatch(out); found != nil {
		return "the time limit in " + found[1]
	}
	if found := failed.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	return first
}

// goTool runs the go command and returns all that it printed.
func goTool(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are our own
	command.WaitDelay = time.Second                    // a test that was started lives a little longer
	out, err := command.CombinedOutput()
	return string(out), err
}
