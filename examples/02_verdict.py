"""Ask why one network of the spirals study is bad, and write the report."""

import pellucid

data = pellucid.datasets.spirals(600, seed=0)
verdict = pellucid.diagnose(data, hidden=[8, 8, 8], seed=0)
print(verdict)
print("report:", pellucid.write_report(verdict, "report.html"))
if verdict.witness:
    pellucid.save(verdict.witness.network, "witness.pellucid")
