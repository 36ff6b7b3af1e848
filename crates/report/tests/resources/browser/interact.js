// Runs inside the page after it was drawn, does what a reader would do, and leaves what happened in the document.
window.addEventListener('load', () => {
  const seen = {};
  const $ = (id) => document.getElementById(id);
  const rows = (id) => [...document.querySelectorAll('#' + id + ' tbody tr')].map((r) => [...r.children].map((c) => c.textContent));
  try {
    seen.ready = document.body.dataset.ready;
    seen.sections = [...document.querySelectorAll('main section')].map((s) => s.id);
    seen.operations = rows('operation-table').length;
    const search = $('operation-table-search');
    search.value = 'RELU'; search.dispatchEvent(new Event('input'));
    seen.found = rows('operation-table').map((r) => r[0]);
    seen.note = search.parentElement.querySelector('.found').textContent;
    search.value = ''; search.dispatchEvent(new Event('input'));
    const heads = [...document.querySelectorAll('#operation-table th')];
    const count = heads.findIndex((h) => h.textContent === 'count');
    heads[count].querySelector('button').click();
    seen.most = rows('operation-table')[0][count];
    seen.sorted = heads[count].getAttribute('aria-sort');
    heads[count].querySelector('button').click();
    seen.least = rows('operation-table')[0][count];
    seen.window = [$('timeline-window').textContent];
    $('zoom-in').click(); seen.window.push($('timeline-window').textContent);
    const canvas = document.querySelector('#timeline canvas');
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -100, bubbles: true, cancelable: true }));
    seen.window.push($('timeline-window').textContent);
    $('zoom-all').click(); seen.window.push($('timeline-window').textContent);
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const colors = new Set();
    for (let i = 0; i < pixels.length; i += 4) colors.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
    seen.colors = colors.size;
    const places = () => [...document.querySelectorAll('#flame-box > div')];
    seen.flame = places().length;
    places()[1].click();
    seen.zoomed = places()[0].textContent;
    places()[0].click();
    seen.back = places()[0].textContent;
    const find = $('flame-search'); find.value = 'relu'; find.dispatchEvent(new Event('input'));
    seen.highlighted = $('flame-found').textContent;
    document.querySelector('#steps canvas').dispatchEvent(new MouseEvent('click', { clientX: 5, clientY: 5, bubbles: true }));
    seen.step = $('step-detail').textContent;
    places()[0].dispatchEvent(new MouseEvent('mousemove', { clientX: 30, clientY: 30, bubbles: true }));
    seen.tip = !$('tip').hidden;
    seen.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  } catch (error) { seen.error = String(error && error.stack || error); }
  const out = document.createElement('pre');
  out.id = 'seen'; out.textContent = JSON.stringify(seen);
  document.body.append(out);
});
