// SPDX-License-Identifier: MIT
// What pages do with maps. Each takes the URL of a map and gives a promise of what came of it.
"use strict";

const kFeatures = "service=WFS&version=1.1.0&request=GetFeature&typename=cities&outputformat=geojson&maxfeatures=20";
const kBoxes = ["-180,-90,0,90", "0,-90,180,90"];
const kNamespace = "http://mapserver.gis.umn.edu/mapserver";

const picture = (url, box) =>
  `${url}&service=WMS&version=1.1.1&request=GetMap&layers=countries&styles=&srs=EPSG:4326&format=image/png` +
  `&width=256&height=256&bbox=${box}`;
const painted = () => new Promise(told => requestAnimationFrame(() => requestAnimationFrame(told)));
const names = features => features.map(({properties}) => properties.name).sort();

function loaded(src, crossOrigin) {
  const image = new Image();
  if (crossOrigin) image.crossOrigin = "anonymous";
  return new Promise((told, failed) => {
    image.onload = () => told(image);
    image.onerror = () => failed(Error("picture refused"));
    image.src = src;
  });
}

async function posted(url, xml) {
  const body = new XMLSerializer().serializeToString(xml);
  // text/xml makes the browser ask leave by OPTIONS first.
  const answer = await fetch(url, {method: "POST", body, headers: {"Content-Type": "text/xml"}});
  return answer.text();
}

function openlayers(url, crossOrigin) {
  const params = {LAYERS: "countries", TRANSPARENT: false};
  const source = new ol.source.TileWMS({url, params, crossOrigin, transition: 0});
  const view = new ol.View({projection: "EPSG:4326", center: [0, 0], resolution: 360 / 512});
  const layers = [new ol.layer.Tile({source})];
  const map = new ol.Map({target: "map", controls: [], pixelRatio: 1, view, layers});
  const state = {refused: 0, map, source};
  source.on("tileloaderror", () => ++state.refused);
  return state;
}

const rendered = map => new Promise(told => { map.once("rendercomplete", told); map.render(); });

async function shown(url, crossOrigin) {
  const state = openlayers(url, crossOrigin);
  await rendered(state.map);
  if (state.refused) throw Error("tiles refused");
  return state.map;
}

const clients = {
  async plainImages(url) {
    const images = await Promise.all(kBoxes.map(box => loaded(picture(url, box))));
    document.querySelector("#map").append(...images);
    await painted();
  },

  async crossOriginImages(url) {
    const canvas = Object.assign(document.createElement("canvas"), {width: 512, height: 256});
    const images = await Promise.all(kBoxes.map(box => loaded(picture(url, box), true)));
    images.forEach((image, index) => canvas.getContext("2d").drawImage(image, 256 * index, 0));
    return canvas.toDataURL();
  },

  async leafletTiles(url) {
    const map = L.map("map", {
      crs: L.CRS.EPSG4326, fadeAnimation: false, zoomAnimation: false, zoomControl: false, attributionControl: false,
    });
    const tiles = L.tileLayer.wms(url, {layers: "countries", format: "image/png"});
    await new Promise((told, failed) => {
      tiles.on("load", told).on("tileerror", () => failed(Error("tiles refused"))).addTo(map);
      map.setView([0, 0], 0);
    });
    await painted();
  },

  async openlayersTiles(url) {
    await shown(url, null);
    await painted();
  },

  async openlayersCanvas(url) {
    const map = await shown(url, "anonymous");
    return map.getViewport().querySelector("canvas").toDataURL();
  },

  openlayersFeatures(url) {
    const source = new ol.source.Vector({format: new ol.format.GeoJSON(), url: `${url}&${kFeatures}`});
    return new Promise((told, failed) => {
      const ask = () => source.loadFeatures([-180, -90, 180, 90], 1, ol.proj.get("EPSG:4326"));
      let count = 0;
      source.on("featuresloaderror", () => failed(Error("features refused")));
      source.on("featuresloadend", ({features}) => {
        if (++count === 2) return told(features.map(feature => feature.get("name")).sort());
        source.refresh();
        ask();
      });
      ask();
    });
  },

  async fetchedFeatures(url, how = {}) {
    await (await fetch(`${url}&${kFeatures}`, how)).json();
    return names((await (await fetch(`${url}&${kFeatures}`, how)).json()).features);
  },

  // Such a header makes the browser ask leave by OPTIONS first.
  fetchedWithHeader(url) { return clients.fetchedFeatures(url, {headers: {"X-Requested-With": "XMLHttpRequest"}}); },

  fetchedWithCredentials(url) { return clients.fetchedFeatures(url, {credentials: "include"}); },

  async postedFeatures(url) {
    const xml = new ol.format.WFS().writeGetFeature({
      featureNS: kNamespace, featurePrefix: "ms", featureTypes: ["cities"], outputFormat: "geojson", maxFeatures: 20,
      srsName: "EPSG:4326",
    });
    await posted(url, xml);
    return names(JSON.parse(await posted(url, xml)).features);
  },

  async postedTransactions(url) {
    const feature = new ol.Feature({name: "Nowhere", msGeometry: new ol.geom.Point([1, 2])});
    const xml = new ol.format.WFS().writeTransaction([feature], null, null, {
      featureNS: kNamespace, featurePrefix: "ms", featureType: "cities", version: "1.1.0", srsName: "EPSG:4326",
    });
    return [await posted(url, xml), await posted(url, xml)];
  },

  // A session of two parts, for what happens between them: start, then again as often as wanted.
  async startPanning(url, crossOrigin) {
    window.panning = openlayers(url, crossOrigin);
    await rendered(window.panning.map);
    return window.panning.refused;
  },

  async pan(x, y) {
    const state = window.panning;
    state.refused = 0;
    state.map.getView().setCenter([x, y]);
    state.map.getView().setResolution(360 / 2048);
    await rendered(state.map);
    return state.refused;
  },

  async panAgain() {
    const state = window.panning;
    state.refused = 0;
    state.source.refresh();
    await rendered(state.map);
    return state.refused;
  },
};
