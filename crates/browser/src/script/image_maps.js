// Areas of image maps: an area has no box of its own, it is a part of the image that shows it.

import { attribute } from './flat_tree.js';
import { boundingRect, clientLeft, clientTop, closest, querySelectorAll } from './intrinsics.js';

/** @param {HTMLAreaElement} area */
export const imageOfArea = (area) => {
  const map = closest(area, 'map');
  const name = map && (attribute(map, 'name') ?? attribute(map, 'id'));
  if (!name) return null;
  for (const image of querySelectorAll(document, 'img[usemap]')) if (attribute(image, 'usemap') === `#${name}`) return image;
  return null;
};

// Where an area may be hit, its middle first, in the frame's viewport.
/** @param {HTMLAreaElement} area @param {Element} image @returns {Point[]} */
export const pointsInArea = (area, image) => {
  const { left, top, width, height } = boundingRect(image);
  const numbers = (attribute(area, 'coords') ?? '').split(/[\s,;]+/).map(Number).filter((number) => !Number.isNaN(number));
  /** @type {[number, number][]} */
  const corners = [];
  for (let at = 0; at + 1 < numbers.length; at += 2) corners.push([numbers[at], numbers[at + 1]]);
  /** @param {[number, number][]} some @returns {[number, number]} */
  const middle = (some) => [some.reduce((sum, [x]) => sum + x, 0) / some.length, some.reduce((sum, [, y]) => sum + y, 0) / some.length];
  const shape = (attribute(area, 'shape') ?? 'rect').toLowerCase();
  // A polygon that is bent inwards may not have its middle inside of it: then one of its triangles does.
  /** @returns {[number, number][]} */
  const inside = () => {
    if (shape === 'default' || corners.length === 0) return [[width / 2, height / 2], [width / 8, height / 8], [width * 7 / 8, height * 7 / 8]];
    if (shape.startsWith('circ')) return [corners[0]];
    return [middle(corners), ...corners.slice(2).map((corner, at) => middle([corners[at], corners[at + 1], corner]))];
  };
  return inside().map(([x, y]) => ({ x: left + clientLeft(image) + x, y: top + clientTop(image) + y }));
};
