package main

import "fmt"

const sizeIntro = `## Size

The program for linux/amd64, stripped, as the image has it, is %s. The image adds the program to ` + "`gcr.io/distroless/static-debian13`" + ` and nothing else (a test asserts that): certificates of authorities, time zones and a passwd file, about 2 MB by its publisher's account; it is not downloaded here.

%s`

func presentSize(r results) part {
	all := r.least("Binary/of=all", "B")
	var t rows
	t.add("binary, stripped, linux/amd64", "at most 35 MB", size(all), all <= 35e6, "")
	t.add("image", "at most 5 MB more than the binary", "the binary alone is added to a base of about 2 MB (its publisher's figure)", true, "")
	return part{prose: fmt.Sprintf(sizeIntro, size(all), r.measuredOn()), targets: t.all}
}
