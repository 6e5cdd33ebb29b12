package protocol
import ("testing";"testing/fstest";"strings";"time")
func TestBig(t *testing.T){
 for _, u := range []string{"<goto>NOPE</goto>\n","<goto>X</goto>","<call>A</call> ","<goto input=x>A</goto>","{{a}} {{b}}", "{{a}", "<goto>A</goto>", "<goto>a b c</goto>"} {
  for _, n := range []string{"START.md","START.sh"} {
  fsys := fstest.MapFS{n:{Data: []byte("---\nallowed_transitions:\n"+strings.Repeat("  - {tag: goto, target: A}\n",1000)+"---\nA <result>"+strings.Repeat(u, 1000000/len(u)))},"A.md":{Data:[]byte("x")}}
  if n=="START.sh" {fsys[n].Data=[]byte(strings.Repeat(u, 1000000/len(u)))}
  t0:=time.Now()
  f:=Lint(fsys,LintOptions{LoadOptions:LoadOptions{Platform:Unix}})
  t.Log(n, u,len(f),time.Since(t0))
 }}
}
