package config

// Problem is a rule that a value breaks, with the remedy.
type Problem struct{ Rule, Remedy string }

// Form is the form of a value that variables and documents have in common.
type Form string

// The forms.
const (
	FormLabel    Form = "dns-label"
	FormName     Form = "dns-subdomain"
	FormSelector Form = "selector"
	FormHost     Form = "host"
	FormPath     Form = "url-path"
	FormUUID     Form = "uuid"
	FormProgram  Form = "program"
	FormSubnet   Form = "subnet"
	FormStatus   Form = "status"
	FormDuration Form = "duration"
)

// Problems returns what is wrong with a value of that form, in the words of the
// variables: nothing where it is sound.
func Problems(form Form, value string) []Problem {
	var err error
	switch form {
	case FormSubnet:
		_, err = parseSubnet(value)
	case FormStatus:
		err = new(StatusRanges).Decode(value)
	case FormDuration:
		_, err = parseDuration(value)
	case FormLabel, FormName, FormSelector, FormHost, FormPath, FormUUID, FormProgram:
		err = checkFormat(string(form), value)
	}
	if err == nil {
		return nil
	}
	var found []Problem
	for _, p := range problems(err) {
		found = append(found, Problem{Rule: p.rule, Remedy: p.remedy})
	}
	return found
}

// Nearest returns the word of a list that was probably meant, or nothing.
func Nearest(word string, words []string) string { return nearest(word, words) }

// Quote makes a value safe and short enough for a message of one line.
func Quote(value string) string { return quote(value) }

// Listed joins words for a sentence: "a, b or c".
func Listed(words []string, conjunction string) string { return listed(words, conjunction) }
