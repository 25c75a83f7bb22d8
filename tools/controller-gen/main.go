// Command crd-gen writes the CustomResourceDefinitions of packages with kinds, as
// controller-gen does, and knows the markers of ours: see markers.go.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-tools/pkg/crd"
	crdmarkers "sigs.k8s.io/controller-tools/pkg/crd/markers"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
	"sigs.k8s.io/yaml"
)

const header = "# Generated from %s by \"go generate %s\". Do not edit.\n"

func main() {
	root := flag.String("root", "../..", "folder of the module with the packages")
	to := flag.String("to", "", "folder below it for the files, one for each kind")
	flag.Parse()
	if err := run(*root, *to, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "crd-gen:", err)
		os.Exit(1)
	}
}

// run writes the kinds of packages, which are paths below root such as ./api/v1alpha1.
func run(root, to string, paths []string) error {
	if to == "" || len(paths) == 0 {
		return fmt.Errorf("usage: crd-gen [-root FOLDER] -to FOLDER PACKAGE...")
	}
	if !filepath.IsAbs(to) {
		to = filepath.Join(root, to)
	}
	for _, path := range paths {
		crds, err := definitions(root, path)
		if err != nil {
			return err
		}
		for _, definition := range crds {
			text, err := textOf(definition)
			if err != nil {
				return err
			}
			text = append(fmt.Appendf(nil, header, filepath.Clean(path), path), text...)
			if err := os.WriteFile(filepath.Join(to, definition.Spec.Names.Plural+".yaml"), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// definitions are those of one package, sorted by name.
func definitions(root, path string) ([]apiextensionsv1.CustomResourceDefinition, error) {
	roots, err := loader.LoadRootsWithConfig(&packages.Config{Dir: root}, path)
	if err != nil {
		return nil, err
	}
	registry := &markers.Registry{}
	if err := crdmarkers.Register(registry); err != nil {
		return nil, err
	}
	if err := register(registry); err != nil {
		return nil, err
	}
	parser := &crd.Parser{Collector: &markers.Collector{Registry: registry}, Checker: &loader.TypeChecker{}}
	crd.AddKnownTypes(parser)
	boundSelectors(parser)
	for _, r := range roots {
		parser.NeedPackage(r)
	}
	if err := apply(parser.Types); err != nil {
		return nil, err
	}
	var found []apiextensionsv1.CustomResourceDefinition
	for _, kind := range crd.FindKubeKinds(parser, crd.FindMetav1(roots)) {
		parser.NeedCRDFor(kind, nil)
		definition := parser.CustomResourceDefinitions[kind]
		crd.FixTopLevelMetadata(definition)
		found = append(found, definition)
	}
	if loader.PrintErrors(roots, packages.TypeError) {
		return nil, fmt.Errorf("%s has mistakes", path)
	}
	slices.SortFunc(found, func(a, b apiextensionsv1.CustomResourceDefinition) int {
		return slices.Compare([]string{a.Name}, []string{b.Name})
	})
	return found, nil
}

// textOf is a definition as a person applies it, without what the API server says of it.
func textOf(definition apiextensionsv1.CustomResourceDefinition) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&definition)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	delete(object["metadata"].(map[string]any), "creationTimestamp")
	return yaml.Marshal(object)
}
