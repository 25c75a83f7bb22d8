package main

import (
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const program = "./cmd/ionos-endpointslice-controller"

// measureSize builds the program as the image does, and once more with symbols to
// see what is in it.
func measureSize(ctx context.Context, _ form) (string, error) {
	dir, err := os.MkdirTemp("", "bench-size-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // in the folder for what is temporary
	stripped, whole := filepath.Join(dir, "stripped"), filepath.Join(dir, "whole")
	for path, flags := range map[string]string{stripped: "-s -w -X main.version=v1.2.3", whole: "-w"} {
		fmt.Fprintf(os.Stderr, "go build -ldflags %q\n", flags)
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", path, program) //nolint:gosec // constants
		cmd.Dir, cmd.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build the program: %w: %s", err, out)
		}
	}
	info, err := os.Stat(stripped)
	if err != nil {
		return "", err
	}
	modules, err := modulesOf(ctx, stripped)
	if err != nil {
		return "", err
	}
	parts, err := sizesByModule(whole, modules)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "BenchmarkBinary/of=all 1 %d B\n", info.Size())
	rest := info.Size()
	for module, bytes := range parts {
		fmt.Fprintf(&b, "BenchmarkBinary/of=%s 1 %d B\n", module, bytes)
		rest -= bytes
	}
	fmt.Fprintf(&b, "BenchmarkBinary/of=tables 1 %d B\n", max(rest, 0))
	return b.String(), nil
}

// modulesOf are the paths of the modules in the program, ours first.
func modulesOf(ctx context.Context, path string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "version", "-m", path).Output() //nolint:gosec // our own file
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	var modules []string
	for text := range strings.Lines(string(out)) {
		if fields := strings.Fields(text); len(fields) > 1 && (fields[0] == "mod" || fields[0] == "dep") {
			modules = append(modules, fields[1])
		}
	}
	return modules, nil
}

// sizesByModule adds up the symbols of each module; those of no module are "std".
func sizesByModule(path string, modules []string) (map[string]int64, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	symbols, err := file.Symbols()
	if err != nil {
		return nil, fmt.Errorf("list the symbols: %w", err)
	}
	sizes := map[string]int64{}
	for _, symbol := range symbols {
		index := int(symbol.Section)
		if index == 0 || index >= len(file.Sections) || file.Sections[index].Type == elf.SHT_NOBITS {
			continue // not in the file: undefined, or zero until the program runs
		}
		sizes[moduleOf(symbol.Name, modules)] += int64(symbol.Size)
	}
	return sizes, nil
}

// moduleOf is the module whose path a symbol's name begins with, the longest.
func moduleOf(symbol string, modules []string) string {
	name := strings.ReplaceAll(strings.TrimLeft(strings.TrimPrefix(symbol, "type:"), "*.("), "%2e", ".")
	longest := "std"
	for _, module := range modules {
		rest, found := strings.CutPrefix(name, module)
		if found && (rest == "" || strings.ContainsAny(rest[:1], "/.")) && (longest == "std" || len(module) > len(longest)) {
			longest = module
		}
	}
	return longest
}
