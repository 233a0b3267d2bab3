#!/bin/bash
# Makes the documents of this folder with the programs that people use, on Debian:
#   apt-get install pandoc texlive-latex-base ghostscript qpdf weasyprint groff enscript img2pdf imagemagick chromium librsvg2-bin \
#     python3-reportlab python3-docx tesseract-ocr libreoffice-writer-nogui libreoffice-calc-nogui wkhtmltopdf
# A program that is not installed is left out with a message. The tests need none of them. table.json says what each file must give.
set -u
cd "$(dirname "$0")" || exit 1
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
has() { command -v "$1" >/dev/null || { echo "left out: $1 is not installed" >&2; false; }; }
keep() { cp "$1" "$here/$2"; }

base64 -d >dot.png <<'PNG'
iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAFElEQVR4nGNkYPjPgBcw4ZcetIoA2zABD7fqDqIAAAAASUVORK5CYII=
PNG

cat >source.md <<'MD'
---
title: Harbour rules
---

# Mooring

A berth is let for *fourteen* nights at most.[^1] The deposit is €25.

5. Report to the harbour office.
6. Pay the deposit.
    a. In cash.
    b. By card.
7. Show the insurance.

- Rope
- Anchor

## Prices

| Berth   | Length | Price per night |
|---------|--------|-----------------|
| Quay A  | 12 m   | 31.50           |
| Quay B  | 9 m    | 22.00           |
| Pontoon | 7 m    | 17.25           |

The depth follows $d = \frac{v^2}{2g}$ at the gate.

![](dot.png)

Über die Mole führt kein Weg. Žižkov, Łódź, naïve.

[^1]: Longer stays need a letter of the harbour master.
MD
sed '/dot.png/d;/frac/d' source.md >plain.md
cat >page.html <<'HTML'
<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Harbour rules</title>
<style>body{font-family:Liberation Serif,serif}table,td,th{border:1px solid}</style></head><body><h1>Mooring</h1>
<p>A berth is let for fourteen nights at most. The deposit is €25.</p>
<ol start="5"><li>Report to the harbour office.</li><li>Pay the deposit.</li></ol>
<h2>Prices</h2><table><thead><tr><th>Berth</th><th>Length</th><th>Price per night</th></tr></thead><tbody>
<tr><td>Quay A</td><td>12 m</td><td>31.50</td></tr><tr><td>Quay B</td><td>9 m</td><td>22.00</td></tr></tbody></table>
<p>Über die Mole führt kein Weg.</p></body></html>
HTML

if has pandoc; then
  pandoc source.md -o pandoc.docx && keep pandoc.docx pandoc.docx
  pandoc plain.md --number-sections --toc -o pandoc-toc.docx && keep pandoc-toc.docx pandoc-toc.docx
  pandoc plain.md -o harbour.odt
  for to in html5 html4 slidy; do pandoc -s plain.md -t $to -o p.html && keep p.html pandoc-$to.html; done
  pandoc -s source.md --mathml -o p.html && keep p.html pandoc-mathml.html
  pandoc -s source.md --mathjax -o p.html && keep p.html pandoc-mathjax.html
  pandoc page.html -o p.docx && keep p.docx pandoc-from-html.docx
  for to in gfm commonmark_x markdown_mmd plain rst asciidoc org; do pandoc plain.md -t $to -o p.txt && keep p.txt "pandoc-${to//_/-}.txt"; done
  pandoc plain.md -t markdown-simple_tables-multiline_tables-pipe_tables+grid_tables -o p.md && keep p.md pandoc-grid.md
  pandoc plain.md -s -t ms -o p.ms && groff -ms -k -t -Tps p.ms >p.ps 2>/dev/null && ps2pdf p.ps && keep p.pdf pandoc-groff-ms.pdf
fi

if has soffice; then
  export HOME=$work
  office() { timeout 100 soffice --headless --norestore --convert-to "$2" --outdir out "$1" >/dev/null 2>&1; }
  mkdir out
  office harbour.odt docx && keep out/harbour.docx libreoffice-from-odt.docx
  office harbour.odt pdf && keep out/harbour.pdf libreoffice.pdf
  office harbour.odt 'html:HTML (StarWriter)' && keep out/harbour.html libreoffice.html
  office harbour.odt rtf && mv out/harbour.rtf rich.rtf && office rich.rtf docx && keep out/rich.docx libreoffice-from-rtf.docx
  office harbour.odt 'txt:Text (encoded):UTF8' && keep out/harbour.txt libreoffice.txt
  office harbour.odt 'pdf:writer_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"true"}}' && keep out/harbour.pdf libreoffice-tagged.pdf
  office page.html 'docx:MS Word 2007 XML' && keep out/page.docx libreoffice-from-html.docx
  cp pandoc.docx again.docx && office again.docx docx:'MS Word 2007 XML' && keep out/again.docx libreoffice-from-docx.docx
  office again.docx pdf && keep out/again.pdf libreoffice-from-docx.pdf
  printf 'Berth,Length,Price per night\nQuay A,12 m,31.50\nQuay B,9 m,22.00\n' >sheet.csv
  office sheet.csv pdf && keep out/sheet.pdf libreoffice-calc.pdf
  office sheet.csv 'html:HTML (StarCalc)' && keep out/sheet.html libreoffice-calc.html
fi

if has pdflatex; then
  cat >tex.tex <<'TEX'
\documentclass{article}\usepackage[utf8]{inputenc}\title{Harbour rules}\author{}\date{}
\begin{document}\maketitle\section{Mooring}A berth is let for \emph{fourteen} nights at most.\footnote{Longer stays need a letter of the
harbour master.} The office is efficient and offers flags, which is difficult elsewhere.
\begin{enumerate}\setcounter{enumi}{4}\item Report to the harbour office.\item Pay the deposit.\end{enumerate}
\section{Prices}\begin{tabular}{lll}Berth & Length & Price per night\\\hline Quay A & 12 m & 31.50\\Quay B & 9 m & 22.00\end{tabular}
\[ d = \frac{v^2}{2g} \]\end{document}
TEX
  tex() { sed "$2" tex.tex >"$1.tex" && { [ "$1" = pdftex ] || sed -i '/frac/s/.*/\\end{document}/' "$1.tex"; } && pdflatex -interaction=batchmode "$1.tex" >/dev/null 2>&1 && keep "$1.pdf" "$1.pdf"; }
  tex pdftex ''
  tex pdftex-twocolumn 's/{article}/[twocolumn]{article}/'
  tex pdftex-hyperref 's/\\title{/\\usepackage[pdftitle={Harbour rules}]{hyperref}\\title{/'
  tex pdftex-t1 's/\\usepackage\[utf8\]/\\usepackage[T1]{fontenc}\\usepackage[utf8]/'
  if has latex && has dvips; then
    latex -interaction=batchmode pdftex.tex >/dev/null 2>&1 && dvips -q pdftex.dvi -o p.ps && ps2pdf p.ps && keep p.pdf dvips-ghostscript.pdf
  fi
fi

if has chromium; then
  chrome() { timeout 60 chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf="$2" "file://$work/$1" >/dev/null 2>&1; }
  chrome page.html p.pdf && keep p.pdf chrome.pdf
  sed 's/<body>/<body style="columns:2">/' page.html >columns.html && chrome columns.html p.pdf && keep p.pdf chrome-columns.pdf
  sed 's/Liberation Serif,serif/DejaVu Sans/' page.html >sans.html && chrome sans.html p.pdf && keep p.pdf chrome-sans.pdf
  timeout 60 chromium --headless --no-sandbox --disable-gpu --print-to-pdf=p.pdf "file://$work/page.html" >/dev/null 2>&1 && keep p.pdf chrome-header-footer.pdf
  timeout 60 chromium --headless --no-sandbox --disable-gpu --dump-dom "file://$work/page.html" >p.html 2>/dev/null && keep p.html chrome-dom.html
fi
if has weasyprint; then
  weasyprint page.html p.pdf 2>/dev/null && keep p.pdf weasyprint.pdf
  sed 's|</style>|@page{@top-center{content:"Harbour office, pier 4"}@bottom-center{content:"Page " counter(page)}}</style>|' page.html >margins.html
  weasyprint margins.html margins.pdf 2>/dev/null && keep margins.pdf weasyprint-margins.pdf
fi
if has wkhtmltopdf; then QT_QPA_PLATFORM=offscreen timeout 60 wkhtmltopdf -q page.html p.pdf 2>/dev/null && keep p.pdf wkhtmltopdf.pdf; fi

if has groff; then
  cat >page.1 <<'ROFF'
.TH MOOR 1 2026-01-01 Harbour
.SH NAME
moor \- let a berth
.SH DESCRIPTION
A berth is let for \fIfourteen\fR nights at most.
.IP 5. 4
Report to the harbour office.
.TS
tab(|);
l l.
Berth|Price per night
Quay A|31.50
.TE
ROFF
  groff -t -man -Tps page.1 >p.ps && ps2pdf p.ps && keep p.pdf groff-ghostscript.pdf
  groff -t -man -Tpdf page.1 >p.pdf 2>/dev/null && keep p.pdf groff-gropdf.pdf
  groff -t -man -Tutf8 -P-cbou page.1 >p.txt && keep p.txt groff.txt
  groff -t -man -Thtml page.1 >p.html 2>/dev/null && keep p.html groff.html
fi
if has enscript; then
  pandoc plain.md -t plain -o words.txt && iconv -f utf-8 -t latin1//TRANSLIT words.txt >latin.txt
  enscript -q -B -X 88591 -p p.ps latin.txt && ps2pdf p.ps && keep p.pdf enscript.pdf
  enscript -q -2r -X 88591 -p p.ps latin.txt && ps2pdf p.ps && keep p.pdf enscript-two-columns.pdf
  enscript -q -X 88591 -w html -p p.html latin.txt && keep p.html enscript.html
fi
if has rsvg-convert; then
  echo '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="80"><text x="9" y="30" font-family="Liberation Sans">A berth is let for fourteen nights</text></svg>' >p.svg
  rsvg-convert -f pdf p.svg -o p.pdf && keep p.pdf cairo.pdf
fi
if python3 -c 'import reportlab' 2>/dev/null; then
  python3 - <<'PY'
from reportlab.pdfgen import canvas
c = canvas.Canvas('form.pdf', invariant=1)
c.setTitle('Berth order')
form = c.acroForm
for y, label, name, value in ((700, 'Name of the ship:', 'ship', 'Petrel'), (660, 'Berth:', 'berth', 'Quay B')):
    c.drawString(50, y, label)
    form.textfield(name=name, value=value, x=200, y=y - 5, width=200, height=20, forceBorder=True)
for x, label, name, on in ((50, 'Electricity', 'power', True), (250, 'Water', 'water', False)):
    form.checkbox(name=name, checked=on, x=x, y=610, size=16)
    c.drawString(x + 25, 613, label)
form.choice(name='season', value='summer', options=[('Summer season', 'summer'), ('Winter season', 'winter')], x=200, y=560, width=200, height=20)
c.drawString(50, 565, 'Season:')
c.showPage()
c.save()
c = canvas.Canvas('cid.pdf', invariant=1)
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
for y, font, text in ((700, 'HeiseiMin-W3', '係留は十四泊までです。'), (660, 'STSong-Light', '泊位最多租用十四晚。'), (620, 'HYSMyeongJo-Medium', '선석은 십사 박까지 빌려 드립니다.')):
    pdfmetrics.registerFont(UnicodeCIDFont(font))
    c.setFont(font, 14)
    c.drawString(50, y, text)
c.save()
PY
  keep form.pdf reportlab-form.pdf
  keep cid.pdf reportlab-cjk.pdf
fi
if python3 -c 'import docx' 2>/dev/null; then
  python3 - <<'PY'
import docx
d = docx.Document()
d.sections[0].header.paragraphs[0].text = 'Harbour office, pier 4'
d.sections[0].footer.paragraphs[0].text = 'Contract H-2026-118'
d.add_heading('Mooring', 1)
for text in ('Report to the harbour office.', 'Pay the deposit.'):
    d.add_paragraph(text, style='List Number')
d.add_paragraph('Rope', style='List Bullet')
table = d.add_table(rows=1, cols=3)
for cell, text in zip(table.rows[0].cells, ('Berth', 'Length', 'Price per night')):
    cell.text = text
for row in (('Quay A', '12 m', '31.50'), ('Quay B', '9 m', '22.00')):
    for cell, text in zip(table.add_row().cells, row):
        cell.text = text
d.add_picture('dot.png')
d.save('python.docx')
PY
  keep python.docx python-docx.docx
fi

# Two pictures, one of them with transparency, and a dot that is too small to be one.
if has convert; then
  convert -size 300x200 gradient:red-blue -alpha set -channel A -evaluate set 80% photo.png
  convert -size 240x240 plasma:green-yellow -quality 60 photo.jpg
  convert -size 32x32 xc:black point.png
  cat >pictures.html <<'HTML'
<!doctype html><meta charset="utf-8"><title>Berths</title><style>body{font-family:"Liberation Serif",serif}</style><body>
<h1>Berths with a view</h1><p>The picture shows where the guest berths are.</p>
<p><img src="photo.png" width="300" height="200" alt=""> <img src="photo.jpg" width="240" height="240" alt="The pier"> <img src="point.png" width="16" height="16" alt=""></p>
<p>Report to the harbour office.</p></body>
HTML
  cat >pictures.tex <<'TEX'
\documentclass{article}\usepackage{graphicx}\begin{document}\section*{Berths}The picture shows the berths.\\
\includegraphics[width=6cm]{photo.png}\includegraphics[width=4cm]{photo.jpg}\includegraphics[width=.5cm]{point.png}\\
Report to the harbour office.\end{document}
TEX
  if has chromium; then chrome pictures.html pictures.pdf && keep pictures.pdf chrome-pictures.pdf; fi
  if has qpdf && [ -f pictures.pdf ]; then qpdf --object-streams=generate pictures.pdf p.pdf && keep p.pdf qpdf-pictures.pdf; fi
  if has weasyprint; then weasyprint pictures.html p.pdf 2>/dev/null && keep p.pdf weasyprint-pictures.pdf; fi
  if has soffice; then office pictures.html pdf:writer_web_pdf_Export && keep out/pictures.pdf libreoffice-pictures.pdf; fi
  if has pdflatex; then pdflatex -interaction=batchmode pictures.tex >/dev/null 2>&1 && keep pictures.pdf pdftex-pictures.pdf; fi
fi
if has qpdf && [ -f margins.pdf ]; then
  qpdf --linearize margins.pdf p.pdf && keep p.pdf qpdf-linearized.pdf
  qpdf --object-streams=generate --recompress-flate margins.pdf p.pdf && keep p.pdf qpdf-object-streams.pdf
  qpdf --qdf margins.pdf p.pdf && keep p.pdf qpdf-qdf.pdf
  qpdf --encrypt '' harbour 128 --use-aes=y --extract=n -- margins.pdf p.pdf && keep p.pdf qpdf-owner-password.pdf
  qpdf --encrypt visitor harbour 256 -- margins.pdf p.pdf && keep p.pdf qpdf-user-password.pdf
  qpdf margins.pdf --add-attachment page.html -- p.pdf && keep p.pdf qpdf-attachment.pdf
fi
if has gs && [ -f pdftex.pdf ]; then
  gs -q -sDEVICE=pdfwrite -dCompatibilityLevel=1.3 -o p.pdf pdftex.pdf && keep p.pdf ghostscript-pdf13.pdf
  gs -q -sDEVICE=pdfwrite -dPDFSETTINGS=/screen -o p.pdf pdftex.pdf && keep p.pdf ghostscript-screen.pdf
  gs -q -sDEVICE=pngmono -r60 -o scan.png pdftex.pdf
  gs -q -sDEVICE=pngmono -r200 -dLastPage=1 -o ocr.png pdftex.pdf
  if has img2pdf; then
    img2pdf scan.png -o scan.pdf && keep scan.pdf img2pdf-scan.pdf
    qpdf --empty --pages margins.pdf scan.pdf -- p.pdf && keep p.pdf qpdf-text-and-scan.pdf
  fi
  if has tesseract; then
    tesseract ocr.png ocr -l eng pdf >/dev/null 2>&1 && gs -q -sDEVICE=pdfwrite -dMonoImageResolution=60 -dDownsampleMonoImages=true -o p.pdf ocr.pdf && keep p.pdf tesseract.pdf
  fi
fi

# Encodings of the same words.
words='A berth is let for fourteen nights. Über die Mole führt kein Weg, naïve Gäste fragen.'
japanese='係留は十四泊までです。くわしくはハーバーのじむしょにおたずねください。'
korean='선석은 십사 박까지 빌려 드립니다. 자세한 것은 항만 사무소에 물어보세요.'
text() { printf '%s\n' "$2" | iconv -f utf-8 -t "$1"; }
text utf-16le "$words" >"$here/iconv-utf-16le.txt"
text utf-16be "$words" >"$here/iconv-utf-16be.txt"
text utf-16 "$words" >"$here/iconv-utf-16-mark.txt"
text windows-1252 "$words" >"$here/iconv-windows-1252.txt"
text shift_jis "$japanese" >"$here/iconv-shift-jis.txt"
text euc-jp "$japanese" >"$here/iconv-euc-jp.txt"
text euc-kr "$korean" >"$here/iconv-euc-kr.txt"
for encoding in shift_jis euc-jp iso-2022-jp; do
  text $encoding "<!doctype html><html><head><meta http-equiv=\"Content-Type\" content=\"text/html; charset=$encoding\"><title>港</title></head><body><p>$japanese</p></body></html>" \
    >"$here/iconv-declared-${encoding//_/-}.html"
done
text utf-16le "<!doctype html><html><head><title>Harbour</title></head><body><p>$words</p></body></html>" >"$here/iconv-utf-16le.html"
text koi8-r '<?xml version="1.0" encoding="koi8-r"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>Порт</title></head><body><p>Причал сдаётся на четырнадцать ночей.</p></body></html>' \
  >"$here/iconv-koi8-r.xhtml"
