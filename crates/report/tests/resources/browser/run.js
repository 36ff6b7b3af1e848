// Runs inside the page of a run after it was drawn, does what a reader would do, and leaves what happened in the document.
window.addEventListener('load', () => {
  const seen = {};
  const $ = (id) => document.getElementById(id);
  const colors = (canvas) => {
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data, found = new Set();
    for (let i = 0; i < pixels.length; i += 4) found.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    return found.size;
  };
  try {
    seen.ready = document.body.dataset.ready;
    seen.sections = [...document.querySelectorAll('main section')].map((s) => s.id);
    seen.phases = [...document.querySelectorAll('#phases tbody tr')].map((r) => [...r.cells].slice(0, 5).map((c) => c.textContent));
    seen.widths = [...document.querySelectorAll('#phases .fill')].map((f) => f.style.width);
    seen.parts = [...document.querySelectorAll('#part-table tbody tr')].map((r) => r.children[0].textContent);
    const strip = document.querySelector('#steps canvas');
    strip.dispatchEvent(new MouseEvent('click', { clientX: strip.getBoundingClientRect().left + 5, clientY: 5, bubbles: true }));
    seen.step = $('step-detail').textContent;
    seen.strip = colors(strip);
    seen.memory = document.querySelector('#memory canvas') ? colors(document.querySelector('#memory canvas')) : 0;
    const places = () => [...document.querySelectorAll('#flame-box > div')];
    seen.flame = places().map((p) => p.textContent);
    places()[2].click();
    seen.zoomed = places()[0].textContent;
    seen.paper = getComputedStyle(document.body).backgroundColor;
    seen.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
    seen.print = [...document.styleSheets].some((s) => [...s.cssRules].some((r) => r.media && r.media.mediaText === 'print'));
  } catch (error) { seen.error = String(error && error.stack || error); }
  const out = document.createElement('pre');
  out.id = 'seen'; out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
