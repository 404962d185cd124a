// Colours as they are drawn, and whether two of them can be told apart.

// Less contrast than this is no contrast to most eyes; 1 is none, 21 black on white.
const LEAST_CONTRAST = 1.2;
const LEAST_ALPHA = 0.05;
// Different colours of one page that are remembered.
const MOST_COLOURS = 500;

const WHITE = [255, 255, 255, 1];
const colours = new Map();
let pixel = null;

// [red, green, blue, alpha], or null for what is no colour.
const colourOf = (text) => {
  let colour = colours.get(text);
  if (colour === undefined) {
    const parts = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    colour = parts ? [+parts[1], +parts[2], +parts[3], parts[4] === undefined ? 1 : +parts[4]] : drawnColour(text);
    if (colours.size >= MOST_COLOURS) colours.clear();
    colours.set(text, colour);
  }
  return colour;
};

// Colours in other notations are drawn once, to be read as red, green and blue.
const drawnColour = (text) => {
  if (!CSS.supports('color', text)) return null;
  pixel ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = text;
  pixel.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
  return [red, green, blue, alpha / 255];
};

const over = (ground, colour, alpha) => [0, 1, 2].map((i) => ground[i] + (colour[i] - ground[i]) * alpha).concat(1);

const luminance = (colour) => {
  const [red, green, blue] = colour.map((part) => (part <= 10 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};

// Whether a colour at some strength shows on a ground; on an unknown ground any that is strong enough does.
const stands = (colour, strength, ground) => {
  const alpha = colour[3] * strength;
  if (alpha < LEAST_ALPHA) return false;
  return ground === null || contrast(over(ground, colour, alpha), ground) >= LEAST_CONTRAST;
};

// All colours in the text of a property.
const coloursIn = (text) => (text.match(/rgba?\([^)]*\)|(?:color|color-mix|hsla?|hwb|lab|lch|oklab|oklch)\([^)]*\)/g) ?? []).map(colourOf);

// A background image as one colour, where it is nothing but that; null for a picture.
const pictured = (image) => {
  if (!image.includes('gradient(') || image.includes('url(')) return null;
  const [first, ...others] = coloursIn(image);
  return first && others.every((colour) => colour && colour.every((part, i) => part === first[i])) ? first : null;
};

// What is behind the text of an element with this style: a colour, or null where a picture may be.
const groundOver = (below, style) => {
  let ground = below;
  const colour = colourOf(style.backgroundColor);
  if (colour && colour[3] >= 0.99) ground = colour;
  else if (colour && colour[3] > 0) ground = ground && over(ground, colour, colour[3]);
  if (style.backgroundImage === 'none') return ground;
  const picture = pictured(style.backgroundImage);
  if (!picture) return null;
  return picture[3] >= 0.99 ? picture : ground && over(ground, picture, picture[3]);
};
