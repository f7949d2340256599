package checker
import "testing"
func BenchmarkOpen(b *testing.B){
 for _, n := range []int{0,10} {
 h := mutexHistory(5, 100000, n, true)
 b.Run(map[int]string{0:"none",10:"ten"}[n], func(b *testing.B){ for b.Loop() { Judge(h, Options{}) } ; b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(h.Events)),"ns/event")})
 }
}
