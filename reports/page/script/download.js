// What the page carries compressed is handed out as it was, where the browser can decompress it.
for (const a of document.querySelectorAll('a[download$=".gz"]')) {
  if (!window.DecompressionStream) continue;
  const name = a.download.slice(0, -3);
  a.addEventListener('click', async e => {
    if (a.dataset.ready) return;
    e.preventDefault();
    const packed = Uint8Array.from(atob(a.href.slice(a.href.indexOf(',') + 1)), c => c.charCodeAt(0));
    const blob = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).blob();
    a.href = URL.createObjectURL(blob);
    a.download = name;
    a.dataset.ready = 'yes';
    a.click();
  });
}
