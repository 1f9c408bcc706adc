// Draws what tables cannot: the timeline, which zooms, and the maps of the heap, which
// tell what is under the pointer. Everything else on the page is there without this.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const grouped = (n) => Math.round(n).toLocaleString('en-US');
  const megabytes = (n) => (n / 1e6).toLocaleString('en-US', {minimumFractionDigits: 1, maximumFractionDigits: 1});

  // ------------------------------------------------------------------- timeline
  const holder = document.getElementById('timeline');
  const readout = document.getElementById('readout');
  const t = data.timeline;
  const first = t.event[0];
  const last = t.event[t.event.length - 1];
  let plot = null;

  // What is in view: also as data, for whoever reads the page by program.
  function showRange(min, max) {
    let system = -1, requested = -1, at = 0;
    for (let i = 0; i < t.event.length; ++i) {
      if (t.event[i] < min || t.event[i] > max) continue;
      if (t.system[i] > system) { system = t.system[i]; at = t.event[i]; }
      if (t.requested[i] > requested) requested = t.requested[i];
    }
    readout.dataset.min = Math.round(min);
    readout.dataset.max = Math.round(max);
    readout.dataset.systemMax = system;
    readout.dataset.requestedMax = requested;
    readout.textContent = system < 0 ? 'No sample in view.' :
        'Events ' + grouped(min) + ' to ' + grouped(max) + ': system at most ' + megabytes(system) + ' MB, after event ' +
        grouped(at) + '; requested at most ' + megabytes(requested) + ' MB.';
  }

  function area(name) {
    return (u) => {
      const c = document.createElement('canvas').getContext('2d');
      c.fillStyle = colour(name);
      c.globalAlpha = 1;
      return colour(name) + '26';
    };
  }

  function drawTimeline() {
    const range = plot ? [plot.scales.x.min, plot.scales.x.max] : [first, last];
    if (plot) plot.destroy();
    const axis = {stroke: () => colour('soft'), grid: {stroke: () => colour('line'), width: 1}, ticks: {stroke: () => colour('line'), width: 1}};
    const series = (label, name, more) => Object.assign({label: label, stroke: () => colour(name), width: 1.75,
      value: (u, v) => v == null ? '–' : megabytes(v) + ' MB', points: {show: false}}, more);
    const lines = [
      series('system', 'free', {fill: area('free')}),
      series('requested', 'live', {fill: area('live')}),
      series('usable', 'other', {show: false}),
      series('resident, replayed', 'resident', {dash: [5, 4]}),
    ];
    const values = [t.event, t.system, t.requested, t.usable, t.resident];
    if (t.recorded) {
      lines.push(series('resident, recorded', 'recorded', {dash: [2, 3]}));
      values.push(t.recorded);
    }
    plot = new uPlot({
      width: holder.clientWidth, height: Math.max(220, Math.min(380, window.innerHeight * .5)),
      scales: {x: {time: false}},
      cursor: {drag: {x: true, y: false}},
      axes: [Object.assign({}, axis, {values: (u, v) => v.map(grouped)}),
             Object.assign({}, axis, {size: 62, values: (u, v) => v.map((n) => grouped(n / 1e6) + ' MB')})],
      series: [{label: 'event', value: (u, v) => v == null ? '–' : grouped(v)}].concat(lines),
      hooks: {setScale: [(u, key) => { if (key === 'x') showRange(u.scales.x.min, u.scales.x.max); }]},
    }, values, holder);
    plot.setScale('x', {min: range[0], max: range[1]});
  }

  // #zoom=FROM-TO shows those events.
  function zoomToFragment() {
    const match = /zoom=(\d+)-(\d+)/.exec(location.hash);
    if (match && +match[1] < +match[2]) plot.setScale('x', {min: +match[1], max: +match[2]});
  }

  // ------------------------------------------------------------------- heap maps
  const tip = document.getElementById('tip');
  function mix(a, b, share) { return 'color-mix(in srgb, ' + a + ' ' + Math.round(share * 100) + '%, ' + b + ')'; }

  function HeapMap(canvas, map) {
    const cellWidth = 7, cellHeight = 15, gap = 1, label = 20, between = 10;
    let rows = [];  // {y, strip, start, count}

    function layOut() {
      const perRow = Math.max(20, Math.floor(canvas.clientWidth / (cellWidth + gap)));
      let y = 0;
      rows = [];
      map.strips.forEach((strip, number) => {
        y += label;
        for (let start = 0; start < strip.cells.length; start += perRow) {
          rows.push({y: y, strip: number, start: start, count: Math.min(perRow, strip.cells.length - start)});
          y += cellHeight + gap;
        }
        y += between;
      });
      return y;
    }

    this.draw = function () {
      const height = layOut();
      const ratio = window.devicePixelRatio || 1;
      canvas.style.height = height + 'px';
      canvas.width = canvas.clientWidth * ratio;
      canvas.height = height * ratio;
      const c = canvas.getContext('2d');
      c.scale(ratio, ratio);
      const live = colour('live'), free = colour('free'), other = colour('other');
      c.font = '12px system-ui, sans-serif';
      rows.forEach((row) => {
        const strip = map.strips[row.strip];
        if (row.start === 0) {
          c.fillStyle = colour('soft');
          c.fillText(strip.name + ', ' + megabytes(strip.bytes) + ' MB', 0, row.y - 6);
        }
        for (let i = 0; i < row.count; ++i) {
          const cell = strip.cells[row.start + i];
          const known = cell[0] + cell[1];
          c.fillStyle = known === 0 ? other : mix(live, free, cell[0] / known);
          c.fillRect(i * (cellWidth + gap), row.y, cellWidth, cellHeight);
        }
      });
    };

    this.at = function (x, y) {
      const row = rows.find((r) => y >= r.y && y < r.y + cellHeight + gap);
      const i = Math.floor(x / (cellWidth + gap));
      if (!row || i < 0 || i >= row.count) return null;
      const strip = map.strips[row.strip];
      const number = row.start + i;
      const cell = strip.cells[number];
      const lines = [strip.name + ' + ' + megabytes(number * map.cell_bytes) + ' MB: ' + cell[0] + ' % live, ' + cell[1] + ' % free'];
      if (cell[2] >= 0) lines.push('Hole of ' + map.holes[cell[2]]);
      if (cell[3] >= 0) lines.push('Block of ' + map.blocks[cell[3]]);
      return lines;
    };

    const show = (event) => {
      const box = canvas.getBoundingClientRect();
      const lines = this.at(event.clientX - box.left, event.clientY - box.top);
      if (!lines) { tip.style.visibility = 'hidden'; return; }
      tip.textContent = '';
      lines.forEach((line) => { const d = document.createElement('div'); d.textContent = line; tip.appendChild(d); });
      tip.style.left = Math.max(4, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + 'px';
      tip.style.top = (event.clientY + 18 + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : event.clientY + 18) + 'px';
      tip.style.visibility = 'visible';
    };
    canvas.addEventListener('pointermove', show);
    canvas.addEventListener('pointerdown', show);
    canvas.addEventListener('pointerleave', () => { tip.style.visibility = 'hidden'; });
  }

  const maps = data.maps.map((map, i) => new HeapMap(document.getElementById('map' + i), map));
  function drawAll() {
    if (t.event.length > 1) drawTimeline();
    maps.forEach((map) => map.draw());
  }
  drawAll();
  zoomToFragment();
  document.getElementById('whole').addEventListener('click', () => plot && plot.setScale('x', {min: first, max: last}));
  window.addEventListener('hashchange', zoomToFragment);
  let width = window.innerWidth;
  window.addEventListener('resize', () => { if (window.innerWidth !== width) { width = window.innerWidth; drawAll(); } });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  document.documentElement.dataset.drawn = 'yes';
})();
