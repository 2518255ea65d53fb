/**
 * The script inside a picture of live memory: zoom to a cell on a click, search, details of the cell below the pointer.
 * It reads the picture it is in and nothing else. It must not contain `]]>`.
 */
export const FLAME_SCRIPT = `(function () {
  'use strict';
  var script = document.currentScript;
  var picture = script ? script.parentNode : document.documentElement;
  var cells = Array.prototype.slice.call(picture.getElementsByClassName('f'));
  var detail = document.getElementById('detail');
  var hint = detail.textContent;
  var pad = 10;
  var inner = 1180;
  var places = cells.map(function (cell) {
    var title = cell.getElementsByTagName('title')[0].textContent.split('\\n');
    return {
      cell: cell,
      x: Number(cell.getAttribute('x')),
      width: Number(cell.getAttribute('width')),
      y: Number(cell.getAttribute('y')),
      bytes: Number(cell.getAttribute('data-bytes')),
      name: title[0],
      line: title.join(' \\u00b7 '),
      text: cell.getElementsByTagName('text')[0],
      rect: cell.getElementsByTagName('rect')[0],
      fill: cell.getElementsByTagName('rect')[0].getAttribute('fill')
    };
  });
  function label(name, width) {
    var most = Math.floor((width - 6) / 6.7);
    var all = Array.from(name);
    return most < 3 ? '' : all.length <= most ? name : all.slice(0, most - 1).join('') + '\\u2026';
  }
  function zoom(start, width) {
    places.forEach(function (place) {
      var from = Math.max(0, (place.x - start) / width);
      var to = Math.min(1, (place.x + place.width - start) / width);
      var isVisible = (to - from) * inner >= 0.3;
      place.cell.setAttribute('display', isVisible ? 'inline' : 'none');
      if (!isVisible) return;
      place.cell.setAttribute('x', String(pad + from * inner));
      place.cell.setAttribute('width', String((to - from) * inner));
      place.text.textContent = label(place.name, (to - from) * inner);
    });
  }
  function search(term) {
    var last = -1;
    var bytes = 0;
    var matches = places.filter(function (place) {
      var isMatch = term !== '' && place.name.toLowerCase().indexOf(term.toLowerCase()) >= 0;
      place.rect.setAttribute('fill', isMatch ? '#e0f' : place.fill);
      return isMatch;
    });
    matches.sort(function (a, b) { return a.x - b.x || a.y - b.y; });
    matches.forEach(function (place) {
      if (place.x < last - 1e-6) return;
      last = place.x + place.width;
      bytes += place.bytes;
    });
    hint = term === '' ? '' : matches.length + (matches.length === 1 ? ' cell matches, ' : ' cells match, ') + (bytes / 1073741824).toFixed(2) + ' GiB';
    detail.textContent = hint;
  }
  places.forEach(function (place) {
    place.cell.addEventListener('click', function () { zoom(place.x, place.width); });
    place.cell.addEventListener('mouseover', function () { detail.textContent = place.line; });
    place.cell.addEventListener('mouseout', function () { detail.textContent = hint; });
  });
  document.getElementById('reset').addEventListener('click', function () { zoom(pad, inner); });
  document.getElementById('search').addEventListener('click', function () {
    var term = window.prompt('part of a name', '');
    if (term !== null) search(term);
  });
  picture.setAttribute('class', 'live');
})();
`;
