// Draws the page that the data are for, and again when the window or the colours change.
const pages = { analysis, comparison: comparisonPage, run: runPage, experiment: experimentPage };
pages[data.kind]();
let waiting = 0;
const again = () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => redraws.forEach((f) => f())); };
addEventListener('resize', again);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);
document.body.dataset.ready = 'yes';
