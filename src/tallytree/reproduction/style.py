"""How the page looks: one column, quiet colours, tables and pictures that scroll where they do not fit."""

STYLE = """
:root{--ink:#1d2430;--soft:#5b6472;--paper:#fff;--tint:#f4f6f9;--line:#dde2ea;--link:#0b63ab;
--good:#1a7f4e;--half:#8a6100;--bad:#b3362c;--none:#5b6472}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ee;--soft:#a3acba;--paper:#14181f;--tint:#1d232d;
--line:#333c4a;--link:#7db8f0;--good:#5cc78f;--half:#e0b24a;--bad:#f08a80;--none:#a3acba}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:80rem;margin:0 auto;padding:2rem 1.25rem 5rem}
h1{font-size:2rem;line-height:1.2;margin:0 0 .75rem;letter-spacing:-.01em}
h2{font-size:1.4rem;line-height:1.25;margin:3rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--line)}
h3{font-size:1.08rem;margin:2rem 0 .5rem}
p{margin:.6rem 0;max-width:46rem}
ul{margin:.6rem 0;padding-left:1.2rem;max-width:46rem}
li{margin:.4rem 0}
code{font:.88em ui-monospace,monospace;background:var(--tint);padding:.08em .3em;border-radius:3px;
overflow-wrap:anywhere}
sub,sup{font-size:.72em;line-height:0}
nav{display:flex;flex-wrap:wrap;gap:.35rem .9rem;margin:1rem 0 1.5rem;font-size:.9rem}
nav a,a{color:var(--link)}
.note{background:var(--tint);border-left:4px solid var(--half);padding:.7rem 1rem;border-radius:0 4px 4px 0}
.scroll{overflow-x:auto}
figure{margin:1.25rem 0}
figure svg{display:block;width:100%;height:auto}
figcaption{color:var(--soft);font-size:.9rem;max-width:46rem;margin-top:.4rem}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums;margin:.8rem 0}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
th{color:var(--soft);font-weight:600;vertical-align:bottom;border-bottom:2px solid var(--line)}
td.n,th.n{text-align:right}
td.n{white-space:nowrap}
td.p{color:var(--soft)}
.claim{max-width:64rem}
figure{max-width:64rem}
td:first-child,td code{white-space:nowrap}
tr.first td{border-top:2px solid var(--line)}
.claim{border:1px solid var(--line);border-left:4px solid var(--none);border-radius:4px;padding:.7rem 1rem;
margin:.8rem 0}
.claim p{margin:.35rem 0;max-width:none}
.claim .said{font-weight:600}
.claim .where{font-weight:400;color:var(--soft);font-size:.85rem}
.claim .why{color:var(--soft)}
.verdict{display:inline-block;font-size:.75rem;font-weight:700;text-transform:uppercase;letter-spacing:.04em;
color:var(--none);border:1px solid currentColor;border-radius:3px;padding:0 .4rem;margin-right:.35rem}
.holds{border-left-color:var(--good)}.holds .verdict{color:var(--good)}
.partly{border-left-color:var(--half)}.partly .verdict{color:var(--half)}
.fails{border-left-color:var(--bad)}.fails .verdict{color:var(--bad)}
@media(max-width:40rem){main{padding:1.25rem 1rem 3rem}h1{font-size:1.6rem}
table{font-size:.8rem}th,td{padding:.25rem .45rem}}
@media print{nav{display:none}.claim,figure{break-inside:avoid}}
"""
