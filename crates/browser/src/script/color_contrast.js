// Colors as they are painted, and whether one is legible on another.

// Less contrast than this is no contrast to most eyes; 1 is none, 21 black on white.
export const MIN_CONTRAST = 1.2;
export const MIN_ALPHA = 0.05;
// Cached colors.
const MAX_COLORS = 500;

/** @type {Rgba} */
export const WHITE = [255, 255, 255, 1];
/** @type {Map<string, Rgba | null>} */
const colorCache = new Map();
/** @type {OffscreenCanvasRenderingContext2D | null} */
let pixel = null;

// null for what is no color.
/** @param {string} text @returns {Rgba | null} */
export const parseColor = (text) => {
  let color = colorCache.get(text);
  if (color === undefined) {
    const parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    color = parts ? [+parts[1], +parts[2], +parts[3], parts[4] === undefined ? 1 : +parts[4]] : rasterizeColor(text);
    if (colorCache.size >= MAX_COLORS) colorCache.clear();
    colorCache.set(text, color);
  }
  return color;
};

// Colors in other notations are painted once, and read back as red, green and blue.
/** @param {string} text @returns {Rgba | null} */
const rasterizeColor = (text) => {
  if (!CSS.supports('color', text)) return null;
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  if (!pixel) return null;
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = text;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
};

/** @param {Rgba} background @param {Rgba} color @param {number} alpha @returns {Rgba} */
const blend = (background, color, alpha) => [0, 1, 2].map((i) => background[i] + (color[i] - background[i]) * alpha).concat(1);

/** @param {Rgba} color */
const luminance = (color) => {
  const [red, green, blue] = color.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

/** @param {Rgba} one @param {Rgba} other */
export const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

// Whether a color at some opacity is legible on a background; on an unknown one it is if it is opaque enough.
/** @param {Rgba} color @param {number} strength @param {Rgba | null} background */
export const isLegible = (color, strength, background) => {
  if (color !== lastAsked.color || strength !== lastAsked.strength || background !== lastAsked.background) {
    lastAsked = { color, strength, background, legible: computeLegibility(color, strength, background) };
  }
  return lastAsked.legible;
};
// Mostly it is asked for the same colors many times in a row. They are never changed in place.
/** @type {{ color: Rgba | null, strength: number, background: Rgba | null, legible: boolean }} */
let lastAsked = { color: null, strength: 0, background: null, legible: false };

/** @param {Rgba} color @param {number} strength @param {Rgba | null} background */
const computeLegibility = (color, strength, background) => {
  const alpha = color[3] * strength;
  if (alpha < MIN_ALPHA) return false;
  return background === null || contrast(blend(background, color, alpha), background) >= MIN_CONTRAST;
};

// All colors in a property's value.
/** @param {string} text @returns {(Rgba | null)[]} */
export const parseColors = (text) => (text.match(/rgba?\([^)]*\)|(?:color|color-mix|hsla?|hwb|lab|lch|oklab|oklch)\([^)]*\)/g) ?? []).map(parseColor);

// The color of a background image that is a gradient of one color; null for any other image.
/** @param {string} image */
const solidGradientColor = (image) => {
  if (!image.includes('gradient(') || image.includes('url(')) return null;
  const [first, ...others] = parseColors(image);
  return first && others.every((color) => color && color.every((part, i) => part === first[i])) ? first : null;
};

// The background of an element with this style over another background: a color, or null if it may be an image.
/** @param {Rgba | null} below @param {{ backgroundColor: string, backgroundImage: string }} style @returns {Rgba | null} */
export const backgroundOver = (below, style) => {
  let background = below;
  const color = parseColor(style.backgroundColor);
  if (color && color[3] >= 0.99) background = color;
  else if (color && color[3] > 0) background = background && blend(background, color, color[3]);
  if (style.backgroundImage === 'none') return background;
  const picture = solidGradientColor(style.backgroundImage);
  if (!picture) return null;
  return picture[3] >= 0.99 ? picture : background && blend(background, picture, picture[3]);
};
