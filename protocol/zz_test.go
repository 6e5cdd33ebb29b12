package protocol
import ("testing";"strings";"time")
func TestZZ(t *testing.T){
	const size = 10 << 20
	for _, unit := range []string{
		"<result>","<goto>","<goto>A</goto>","<goto a=\"","<goto a='x' b=\"","<goto a='\"' b=\"' c='","<goto ","<goto a","</result>","</goto ","<fork a=\"' b='<fork a=\"' b='","<result></result>"} {
		s:=time.Now()
		Scan(strings.Repeat(unit, size/len(unit)))
		t.Log(unit,time.Since(s))
	}
}
